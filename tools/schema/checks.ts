/**
 * Tables that a sale writes, and the function that has their CHECKs on PostgreSQL. The server reads the text of a CHECK
 * in every statement, and a function once for a connection (ADR 27).
 */
const functions: Readonly<Record<string, string>> = {
  accounts: 'is_account',
  postings: 'is_posting',
  orders: 'is_order',
  stock: 'is_slot',
  proxies: 'is_proxy',
}

/** The conditions of the CHECKs in a text. */
function conditionsOf(text: string): string[] {
  const found: string[] = []
  for (let at = text.indexOf('CHECK ('); at >= 0; at = text.indexOf('CHECK (', at)) {
    const from = at + 'CHECK ('.length
    let open = 1
    for (at = from; open > 0; at += 1) open += text[at] === '(' ? 1 : text[at] === ')' ? -1 : 0
    found.push(text.slice(from, at - 1).replace(/\s+/g, ' '))
  }
  return found
}

/** PostgreSQL's functions and constraints, made from the CHECKs that the baseline has for SQLite. */
export function checksSql(baseline: string): string[] {
  const statements = Object.entries(functions).flatMap(([table, name]) => {
    const text = new RegExp(`^CREATE TABLE ${table} \\(\n([\\s\\S]*?)\n\\);`, 'm').exec(baseline)?.[1] ?? ''
    const conditions = conditionsOf(text)
    if (conditions.length === 0) throw new Error(`the baseline has no CHECK of ${table}`)
    const identifiers = new Set(
      conditions
        .join(' ')
        .replace(/'[^']*'/g, '')
        .split(/\W+/),
    )
    const columns = [...text.matchAll(/^ {2}(\w+) (BIGINT|TEXT)\b/gm)].filter(([, column]) =>
      identifiers.has(column ?? ''),
    )
    const parameters = columns.map(([, column, type]) => `${column} ${type === 'TEXT' ? 'text' : type}`).join(', ')
    return [
      `CREATE FUNCTION ${name}(${parameters})`,
      'RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$',
      'BEGIN',
      `  RETURN ${conditions.map((condition) => `(${condition})`).join('\n    AND ')};`,
      'END',
      '$$;',
      `ALTER TABLE ${table} ADD CONSTRAINT ${table}_check`,
      `  CHECK (${name}(${columns.map(([, column]) => column).join(', ')}));`,
    ]
  })
  return ['-- @postgres', ...statements, '-- @both']
}
