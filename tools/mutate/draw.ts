import { apply, type Change } from './changes.ts'

/** Where changes are looked for. */
const places = /^src\/(?:domains|db|api|dataplane)\/.+\.ts$/
/** Messages, doors and pages hold no decision. */
const silent = /\.test\.ts$|\/(?:errors|index)\.ts$|^src\/api\/docs\//

export const isChanged = (path: string, only: readonly string[]): boolean =>
  places.test(path) && !silent.test(path) && (only.length === 0 || only.some((part) => path.startsWith(part)))

/** A change named by what it does to its line: the same in every checkout, wherever the line stands. */
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

const mostInAFile = 3

/** How much oftener or rarer than another a kind of change is drawn: numbers are many, conditions in SQL are few. */
const weights: { readonly [kind: string]: number } = { 'number off by one': 0.4, 'SQL condition removed': 3 }
const weightOf = (kind: string) => weights[kind] ?? (kind.startsWith('SQL') ? 2 : 1)

/**
 * So many changes, drawn by the seed. Each has a lot of its own, made from the seed and its name, so that a change
 * elsewhere in the project leaves the draw as it is. A large file is drawn from more often than a small one, but less
 * than in proportion; no place is changed twice, and of lines that are alike one.
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
    if (!overlaps && beside.length < mostInAFile) drawn.push(mutant)
  }
  return drawn
}

/** Between nothing and one, evenly. */
function lotOf(text: string): number {
  const digest = new Bun.CryptoHasher('sha256').update(text).digest()
  return digest.readUIntBE(0, 6) / 2 ** 48
}
