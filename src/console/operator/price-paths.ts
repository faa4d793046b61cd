type PriceChange = { readonly path: string; readonly before: string | null; readonly after: string | null }

/** Parses a line of the API: `- path: old`, `~ path: old -> new` or `+ path: new`. */
export function readChange(line: string): PriceChange {
  const [, sign = '', path = '', value = ''] = /^([-~+]) ([^:]+): (.*)$/s.exec(line) ?? []
  if (sign === '-') return { path, before: value, after: null }
  if (sign === '+') return { path, before: null, after: value }
  const [before = '', after = ''] = value.split(' -> ')
  return { path: path === '' ? line : path, before, after }
}
