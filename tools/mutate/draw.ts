import { apply, type Change } from './changes.ts'

/** Sources that are mutated. */
const mutable = /^src\/(?:domains|db|api|dataplane)\/.+\.ts$/
/** Messages, index files and pages have no conditions to test. */
const excluded = /\.test\.ts$|\/(?:errors|index)\.ts$|^src\/api\/docs\//

export const isChanged = (path: string, only: readonly string[]): boolean =>
  mutable.test(path) && !excluded.test(path) && (only.length === 0 || only.some((part) => path.startsWith(part)))

/** A change with its line before and after, which name it. The name does not depend on the line number. */
export type Mutant = Change & {
  readonly line: number
  readonly before: string
  readonly after: string
}

export function toMutant(source: string, change: Change): Mutant {
  const from = source.lastIndexOf('\n', change.at - 1) + 1
  const newline = source.indexOf('\n', change.end)
  const to = newline === -1 ? source.length : newline
  const after = apply(source, change).slice(from, to + change.text.length - (change.end - change.at))
  const line = source.slice(0, from).split('\n').length
  return { ...change, line, before: flat(source.slice(from, to)), after: flat(after) }
}

export const nameOf = (mutant: Pick<Mutant, 'path' | 'before' | 'after'>): string =>
  `${mutant.path}: ${mutant.before} → ${mutant.after}`

const flat = (text: string) => text.replace(/\s+/g, ' ').trim()

const maxPerFile = 3

/** Weight of a kind in the sample. Sources have many numbers and few SQL conditions. */
const weights: { readonly [kind: string]: number } = { 'number off by one': 0.4, 'SQL condition removed': 3 }
const weightOf = (kind: string) => weights[kind] ?? (kind.startsWith('SQL') ? 2 : 1)

/**
 * A weighted random sample of `count` mutants. The random number of a mutant is a hash of the seed and its name, so a
 * change elsewhere in the project does not change the sample. The share of a file grows with the square root of its
 * size. No two mutants overlap, and no two have the same name.
 */
export function draw(mutants: readonly Mutant[], seed: number, count: number): Mutant[] {
  const sizes = Map.groupBy(mutants, (mutant) => mutant.path)
  const lots = mutants.map((mutant) => {
    const size = sizes.get(mutant.path)?.length ?? 1
    return { mutant, lot: lotOf(`${seed} ${nameOf(mutant)}`) ** (Math.sqrt(size) / weightOf(mutant.kind)) }
  })
  const drawn: Mutant[] = []
  for (const { mutant } of lots.toSorted((a, b) => b.lot - a.lot)) {
    if (drawn.length === count) break
    const beside = drawn.filter((each) => each.path === mutant.path)
    const overlaps = beside.some(
      (each) => (each.at < mutant.end && mutant.at < each.end) || nameOf(each) === nameOf(mutant),
    )
    if (!overlaps && beside.length < maxPerFile) drawn.push(mutant)
  }
  return drawn
}

/** A hash of the text, uniformly distributed in [0, 1). */
function lotOf(text: string): number {
  const digest = new Bun.CryptoHasher('sha256').update(text).digest()
  return digest.readUIntBE(0, 6) / 2 ** 48
}
