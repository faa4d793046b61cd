const longestName = 64
/** A body of 64 KiB has room for thousands of names; only the first are compared. */
const maxNames = 20

/** The unknown name that was probably meant for each missing field. */
export function findMeant(missing: readonly string[], unknown: readonly string[]): ReadonlyMap<string, string> {
  const meant = new Map<string, string>()
  for (const name of unknown.slice(0, maxNames)) {
    const field = findNearest(name, missing)
    if (field !== undefined && !meant.has(field)) meant.set(field, name)
  }
  return meant
}

/** The known name that was most likely meant, if any is near enough. */
export function findNearest(name: string, known: readonly string[]): string | undefined {
  if (name.length > longestName) return undefined
  let nearest: { name: string; distance: number } | undefined
  for (const each of known) {
    const distance = distanceOf(name, each)
    if (distance !== undefined && distance < (nearest?.distance ?? Number.POSITIVE_INFINITY)) {
      nearest = { name: each, distance }
    }
  }
  return nearest?.name
}

/** `countryCode`, `Country-Code` and `country_code` are one name. */
const toPlain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '')
const toOne = (name: string): string => name.replace(/ies$/, 'y').replace(/s$/, '')

/** Field names that other sellers' APIs use for ours. */
const sameAs: Readonly<Record<string, readonly string[]>> = {
  period: ['days', 'months', 'month', 'term', 'duration'],
  count: ['quantity', 'qty', 'amount', 'number'],
  quantity: ['count', 'qty', 'amount', 'number'],
  gb: ['gigabytes', 'traffic', 'amount', 'size'],
  port_type: ['protocol', 'proto', 'type'],
  protocol: ['port_type', 'proto'],
  ipv: ['version', 'ip_version', 'type'],
  pool_type: ['type'],
  device: ['device_id'],
  uuid: ['subscription', 'subscription_id'],
}

/** `country` and `country_code`: one is made of some of the words of the other. */
function sharesTerms(a: string, b: string): boolean {
  const [fewer = [], more = []] = [termsOf(a), termsOf(b)].toSorted((one, other) => one.length - other.length)
  return fewer.length > 0 && fewer.every((term) => more.includes(term))
}

const termsOf = (name: string): string[] =>
  name
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((term) => term !== '')

/** Edit distance of two names; undefined if one is no likely misspelling of the other. */
function distanceOf(name: string, known: string): number | undefined {
  const [a, b] = [toPlain(name), toPlain(known)]
  if (a === b) return 0
  if (toOne(a) === toOne(b)) return 0.5
  const edits = editsBetween(a, b)
  const shorter = Math.min(a.length, b.length)
  if (edits <= Math.max(1, Math.floor(shorter / 3)) && shorter > 2) return edits
  if (sameAs[known]?.some((each) => toPlain(each) === a)) return 10
  if (sharesTerms(name, known)) return 10 + edits
  return shorter > 2 && (a.includes(b) || b.includes(a)) ? 100 + edits : undefined
}

/** Levenshtein's distance: letters put in, left out or changed. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let at = 0; at < a.length; at += 1) {
    const next = [at + 1]
    for (let column = 1; column <= b.length; column += 1) {
      const changed = (row[column - 1] ?? 0) + (a[at] === b[column - 1] ? 0 : 1)
      next.push(Math.min(changed, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
