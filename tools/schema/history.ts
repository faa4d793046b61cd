import type { History } from './histories.ts'

type Event = 'insert' | 'update' | 'delete'
type Column = { readonly name: string; readonly isSealed: boolean; readonly initial: string | undefined }

type Parsed = {
  readonly of: string
  readonly table: string
  /** The triggers and functions are named after it. */
  readonly name: string
  readonly key: readonly string[]
  readonly columns: readonly Column[]
  readonly names: readonly string[]
  readonly hasInitial: boolean
  readonly isKept: boolean
  readonly on: readonly Event[]
  readonly isDirect: boolean
  readonly isGuarded: boolean
}

function parse({ of, key, columns, initial, keep, on = 'insert update', direct, guarded }: History): Parsed {
  const values = initial?.split(' ') ?? []
  const parsed = columns.split(/\s+/).map((column, index): Column => {
    return { name: column.replace('?', ''), isSealed: column.startsWith('?'), initial: values[index] }
  })
  return {
    of: literal(of),
    table: of.split(',')[0] ?? of,
    name: `${of.replaceAll(/,? /g, '_')}_history`,
    key: key.split(' '),
    columns: parsed,
    names: parsed.map((each) => each.name),
    hasInitial: initial !== undefined,
    isKept: keep === undefined,
    on: on.split(' ') as Event[],
    isDirect: direct === true,
    isGuarded: guarded === true,
  }
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`
const isColumn = (value: string): boolean => /^[a-z_]+$/.test(value)

/** SQL condition: a row differs from the initial values. */
function changed({ columns }: Parsed, differs: string, row = ''): string {
  const conditions = columns.flatMap(({ name, initial }) => {
    if (initial === undefined || initial === name) return []
    const value = isColumn(initial) ? row + initial : initial
    return [`${row}${name} ${value === 'NULL' ? 'IS NOT NULL' : `${differs} ${value}`}`]
  })
  return conditions.join(' OR ')
}

const keyOf = ({ key }: Parsed, type: string, row = ''): string =>
  key.map((column) => `CAST(${row}${column} AS ${type})`).join(` || ' ' || `)

const quoted = ({ columns }: Parsed, quote: string, row = ''): string =>
  columns
    .map(({ name, isSealed }) =>
      isSealed ? `CASE WHEN ${row}${name} IS NULL THEN 'NULL' ELSE 'sealed' END` : `${quote}(${row}${name})`,
    )
    .join(` || ',' || `)

const columnsOfHistory = '(of_table, row_key, version, content)'

/** The statement of a trigger that writes to `row_history` itself. */
function directInsert({ of, isKept }: Parsed, key: string, firstVersion: string, content: string): string {
  const next = `COALESCE((SELECT MAX(version) FROM row_history WHERE of_table = ${of} AND row_key = ${key}), 0) + 1`
  const version = isKept ? firstVersion.replace('$next', next) : '0'
  const insert = `INSERT INTO row_history ${columnsOfHistory} VALUES (${of}, ${key}, ${version}, ${content})`
  return isKept ? insert : `${insert} ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content`
}

function sqliteBody(each: Parsed, event: Event): string {
  const row = event === 'delete' ? 'OLD.' : 'NEW.'
  const quotedRow = quoted(each, 'QUOTE', row)
  const now = each.hasInitial ? `CASE WHEN ${changed(each, 'IS NOT', row)} THEN ${quotedRow} END` : quotedRow
  const content = event === 'delete' ? 'NULL' : now
  if (each.isDirect) return directInsert(each, keyOf(each, 'TEXT', row), event === 'insert' ? '1' : '$next', content)
  return `INSERT INTO row_changes VALUES (${each.of}, ${keyOf(each, 'TEXT', row)}, ${each.isKept ? 1 : 0}, ${content})`
}

function sqliteTrigger(each: Parsed, event: Event): string[] {
  const rows = (row: string) => `(${each.names.map((name) => row + name).join(', ')})`
  const when = {
    insert: each.hasInitial ? ` WHEN ${changed(each, 'IS NOT', 'NEW.')}` : '',
    update: ` WHEN ${rows('OLD.')} IS NOT ${rows('NEW.')}`,
    delete: '',
  }[event]
  const of = event === 'update' ? ` OF ${each.names.join(', ')}` : ''
  return [
    `CREATE TRIGGER ${each.name}_${event} AFTER ${event.toUpperCase()}${of} ON ${each.table}${when}`,
    `BEGIN ${sqliteBody(each, event)}; END;`,
  ]
}

const array = (items: readonly string[]): string => `'{${items.join(',')}}'`
const listed = ({ columns }: Parsed): string =>
  array(columns.map(({ name, isSealed }) => (isSealed ? `"?${name}"` : name)))

/** The call of `note_row` that a trigger makes. */
function noteRow(each: Parsed): string {
  const initial = each.columns.map((column) => column.initial ?? '')
  const args = [each.of, literal(each.isKept ? 'kept' : 'latest'), array(each.key), listed(each)]
  if (initial.some(isColumn)) args.push(`''`, array(initial.map((value) => (value === 'NULL' ? 'none' : value))))
  else if (each.hasInitial) {
    args.push(literal(initial.map((value) => (/^\d+$/.test(value) ? literal(value) : value)).join(',')))
  }
  return `note_row(${args.join(', ')})`
}

/** A plan is kept for the life of a connection. Made while the table is small, it would scan the table for ever. */
const indexed = 'SET enable_seqscan = off '

const postgresFunction = (each: Parsed): string[] => [
  `CREATE FUNCTION note_${each.name}() RETURNS trigger LANGUAGE plpgsql ${each.isKept ? indexed : ''}AS $$`,
  'BEGIN',
  `  ${directInsert(
    each,
    keyOf(each, 'text', 'NEW.'),
    `CASE WHEN TG_OP = 'INSERT' THEN 1 ELSE $next END`,
    quoted(each, 'quote_nullable', 'NEW.'),
  )};`,
  '  RETURN NULL;',
  'END',
  '$$;',
]

function postgresTrigger(each: Parsed, events: readonly Event[], when = ''): string {
  const of = events.map((event) => (event === 'update' ? `UPDATE OF ${each.names.join(', ')}` : event.toUpperCase()))
  const suffix = events.length === each.on.length ? '' : `_${events.join('_')}`
  const call = each.isDirect && !events.includes('delete') ? `note_${each.name}()` : noteRow(each)
  const condition = when === '' ? '' : ` WHEN (${when})`
  const trigger = `CREATE TRIGGER ${each.name}${suffix} AFTER ${of.join(' OR ')} ON ${each.table}`
  return `${trigger} FOR EACH ROW${condition} EXECUTE FUNCTION ${call};`
}

function postgresTriggers(each: Parsed): string[] {
  const isApart = (each.hasInitial && each.on.includes('insert')) || (each.isDirect && each.isKept) || each.isGuarded
  if (isApart) {
    const differs = each.names.map((name) => `OLD.${name} IS DISTINCT FROM NEW.${name}`).join(' OR ')
    const whenOf = (event: Event) => (event === 'update' ? differs : changed(each, 'IS DISTINCT FROM', 'NEW.'))
    return each.on.map((event) => postgresTrigger(each, [event], whenOf(event)))
  }
  const groups = each.isDirect ? [each.on.filter((event) => event !== 'delete'), ['delete'] as const] : [each.on]
  return groups
    .filter((events) => each.on.includes(events[0] ?? 'update'))
    .map((events) => postgresTrigger(each, events))
}

/** A view of the present contents of these rows. */
function contents(view: string, list: readonly Parsed[], engine: 'sqlite' | 'postgres'): string[] {
  const [type, differs] = engine === 'sqlite' ? ['TEXT', 'IS NOT'] : ['text', 'IS DISTINCT FROM']
  const arms = list.map((each) => {
    const content = engine === 'sqlite' ? quoted(each, 'QUOTE') : `row_content(to_jsonb(each), ${listed(each)})`
    const where = each.hasInitial ? ` WHERE ${changed(each, differs)}` : ''
    const kept = `CAST(${each.isKept ? 1 : 0} AS BIGINT)`
    return `SELECT ${each.of}, ${keyOf(each, type)}, ${kept}, ${content} FROM ${each.table} AS each${where}`
  })
  return [`CREATE VIEW ${view} (of_table, row_key, kept, content) AS`, `${arms.join('\nUNION ALL ')};`]
}

/** The triggers of these histories, and a view `row_contents…` of their rows for `verify`, for both engines. */
export function historySql(view: string, histories: readonly History[]): string[] {
  const list = histories.map(parse)
  return [
    '-- @sqlite',
    ...contents(view, list, 'sqlite'),
    ...list.flatMap((each) => each.on.flatMap((event) => sqliteTrigger(each, event))),
    '-- @postgres',
    ...contents(view, list, 'postgres'),
    ...list.filter((each) => each.isDirect).flatMap(postgresFunction),
    ...list.flatMap(postgresTriggers),
    '-- @both',
    `INSERT INTO row_history ${columnsOfHistory}`,
    `SELECT of_table, row_key, kept, content FROM ${view};`,
  ]
}
