/** Every leaf that one list has and the other has not, or has otherwise. */
export function difference(before: unknown, after: unknown): string[] {
  const old = leaves(before, '')
  const fresh = leaves(after, '')
  const removed = [...old].filter(([path]) => !fresh.has(path)).map(([path, value]) => `- ${path}: ${value}`)
  const added = [...fresh].filter(([path]) => !old.has(path)).map(([path, value]) => `+ ${path}: ${value}`)
  const changed = [...fresh]
    .filter(([path, value]) => old.has(path) && old.get(path) !== value)
    .map(([path, value]) => `~ ${path}: ${old.get(path)} -> ${value}`)
  return [...removed, ...changed, ...added]
}

function leaves(value: unknown, path: string): Map<string, string> {
  if (value === undefined) return new Map()
  if (typeof value !== 'object' || value === null) return new Map([[path, JSON.stringify(value)]])
  const found = new Map<string, string>()
  for (const [name, child] of Object.entries(value)) {
    for (const [place, leaf] of leaves(child, path === '' ? name : `${path}.${name}`)) found.set(place, leaf)
  }
  return found
}
