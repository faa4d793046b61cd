type PriceChange = { readonly path: string; readonly before: string | null; readonly after: string | null }

/** Parses a line of the API: `- path: old`, `~ path: old -> new` or `+ path: new`. */
export function readChange(line: string): PriceChange {
  const [, sign = '', path = '', value = ''] = /^([-~+]) ([^:]+): (.*)$/s.exec(line) ?? []
  if (sign === '-') return { path, before: value, after: null }
  if (sign === '+') return { path, before: null, after: value }
  const [before = '', after = ''] = value.split(' -> ')
  return { path: path === '' ? line : path, before, after }
}

/** Lists of numbers, whose items are one change together. */
const listItem = /\.(periods|prolong_periods)\.\d+$/

const inOrder = (numbers: string): string =>
  numbers
    .split(', ')
    .toSorted((a, b) => Number(a) - Number(b))
    .join(', ')

/** The changes of a price list as people read them: a list of terms is one change. */
export function readChanges(lines: readonly string[]): readonly PriceChange[] {
  const changes = new Map<string, PriceChange>()
  const join = (one: string | null | undefined, other: string | null): string | null =>
    one === null || one === undefined ? other : other === null ? one : inOrder(`${one}, ${other}`)
  for (const change of lines.map(readChange)) {
    const path = listItem.test(change.path) ? change.path.replace(/\.\d+$/, '') : change.path
    const known = changes.get(path)
    changes.set(path, { path, before: join(known?.before, change.before), after: join(known?.after, change.after) })
  }
  return [...changes.values()]
}

/** The unit of the value at a path: roubles for a day, a gigabyte or a term, percent, or none. */
export function unitOf(path: string): 'day' | 'gigabyte' | 'term' | 'percent' | undefined {
  const [parent = '', last = ''] = path.split('.').slice(-2)
  if (last === 'per_day') return 'day'
  if (last === 'per_gb') return 'gigabyte'
  if (last === 'percent') return 'percent'
  return parent === 'months' || parent === 'slots' || parent === 'per_period' ? 'term' : undefined
}
