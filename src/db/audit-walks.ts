import type { Audit, Finding, Verifier, WalkStep } from '../core/finding.ts'
import type { Database, Reader } from './transaction.ts'

/** Checks of one table, some rows at a time. `after` is the position at which an earlier step ended. */
export type TableWalk = {
  readonly name: string
  readonly step: (reader: Reader, after: string | undefined) => Promise<WalkStep>
}

/** Numbers of checked rows, by what they are. */
type Covered = Readonly<Record<string, number>>

/** A position in the order of a key: a text, a number, or an object of these. */
type Key = string | number | bigint | { readonly [name: string]: unknown }

/** A verifier of walks. All of them, in one snapshot, are the whole verification; each step alone has its own. */
export const createWalkingVerifier = (
  db: Database,
  name: string,
  walks: readonly TableWalk[],
  maxFindings = Number.POSITIVE_INFINITY,
): Verifier => ({
  name,
  verify: (onProgress) =>
    db.snapshot(async (reader): Promise<Audit> => {
      const findings: Finding[] = []
      const covered: Record<string, number> = {}
      let rows = 0
      for (const walk of walks) {
        for (let after: string | undefined; ; ) {
          const step = await walk.step(reader, after)
          for (const each of step.findings) if (findings.length < maxFindings) findings.push(each)
          for (const [what, count] of Object.entries(step.covered)) covered[what] = (covered[what] ?? 0) + count
          rows += step.rows
          onProgress?.(rows)
          if (step.next === undefined) break
          after = step.next
        }
      }
      return { findings, covered }
    }),
  walks: walks.map(({ name: walk, step }) => ({
    name: walk,
    step: (after) => db.snapshot((reader) => step(reader, after)),
  })),
})

/** A check that needs the whole table at once: one step. The database does the work. */
export const wholeWalk = (
  name: string,
  check: (reader: Reader, findings: Finding[]) => Promise<Covered | void>,
): TableWalk => ({
  name,
  async step(reader) {
    const findings: Finding[] = []
    const covered = (await check(reader, findings)) ?? {}
    return { findings, covered, rows: 1 }
  },
})

/** Steps that say themselves where the next one continues. */
export const positionedWalk = <Of extends Key>(
  name: string,
  start: Of,
  step: (reader: Reader, after: Of) => Promise<Omit<WalkStep, 'next'> & { readonly next: Of | undefined }>,
): TableWalk => ({
  name,
  async step(reader, after) {
    const { next, ...rest } = await step(reader, after === undefined ? start : readPosition(after, start))
    return { ...rest, ...(next !== undefined && { next: writePosition(next, start) }) }
  },
})

/** Pages of a table in the order of a key, each checked alone. */
export const pageWalk = <Item, Of extends Key>(of: {
  readonly name: string
  readonly start: Of
  readonly size: number
  readonly read: (reader: Reader, after: Of, limit: number) => Promise<readonly Item[]>
  readonly keyOf: (item: Item) => Of
  readonly check: (reader: Reader, page: readonly Item[], findings: Finding[]) => Promise<Covered | void>
}): TableWalk => ({
  name: of.name,
  async step(reader, after) {
    const from = after === undefined ? of.start : readPosition(after, of.start)
    const page = await of.read(reader, from, of.size)
    const findings: Finding[] = []
    const covered = (await of.check(reader, page, findings)) ?? {}
    const last = page.at(-1)
    const isEnd = last === undefined || page.length < of.size
    return { findings, covered, rows: page.length, ...(!isEnd && { next: writePosition(of.keyOf(last), of.start) }) }
  },
})

/** Only the fields of the key: the item itself may be given as its key. */
function writePosition(key: Key, like: Key): string {
  if (typeof key !== 'object' || typeof like !== 'object') return JSON.stringify(toPlain(key))
  return JSON.stringify(Object.fromEntries(Object.keys(like).map((name) => [name, toPlain(key[name])])))
}

const toPlain = (value: unknown): unknown => (typeof value === 'bigint' ? { n: String(value) } : value)

/** A position of an earlier version, or of a damaged file, is the beginning: more is checked, not less. */
function readPosition<Of extends Key>(text: string, like: Of): Of {
  const value = readValue(parseJson(text), like)
  return isLike(value, like) ? value : like
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function readValue(value: unknown, like: unknown): unknown {
  if (typeof like === 'bigint') {
    const digits = typeof value === 'object' && value !== null && 'n' in value ? value.n : undefined
    return typeof digits === 'string' && /^-?\d+$/.test(digits) ? BigInt(digits) : undefined
  }
  if (typeof like !== 'object' || like === null || typeof value !== 'object' || value === null) return value
  const fields = new Map<string, unknown>(Object.entries(value))
  return Object.fromEntries(Object.entries(like).map(([name, each]) => [name, readValue(fields.get(name), each)]))
}

const isLike = <Of>(value: unknown, like: Of): value is Of => {
  if (typeof value !== typeof like) return false
  if (typeof like !== 'object' || like === null || typeof value !== 'object' || value === null) return true
  const fields = new Map<string, unknown>(Object.entries(value))
  return Object.entries(like).every(([name, each]) => isLike(fields.get(name), each))
}
