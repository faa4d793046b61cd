/** One leaf of a price list that differs. */
export type Change = { readonly path: string; readonly before: string | null; readonly after: string | null }

/** As the shop writes it: `- path: old`, `~ path: old -> new` or `+ path: new`. */
export function readChange(line: string): Change {
  const [, sign = '', path = '', value = ''] = /^([-~+]) ([^:]+): (.*)$/s.exec(line) ?? []
  if (sign === '-') return { path, before: value, after: null }
  if (sign === '+') return { path, before: null, after: value }
  const [before = '', after = ''] = value.split(' -> ')
  return { path: path === '' ? line : path, before, after }
}
