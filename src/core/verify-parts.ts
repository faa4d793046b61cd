import {
  type Audit,
  auditOf,
  type Finding,
  maxFindings,
  stepOf,
  type Verifier,
  type Walk,
  type WalkStep,
} from './finding.ts'
import type { Clock } from './time.ts'

/** How far the parts of `verify` have come, between two nights. */
export type VerifyProgress = {
  /** When this round over all rows began. */
  readonly roundAt: number
  /** When the last part began: rows that are newer have not been looked at. */
  readonly partAt: number
  /** How many parts this round has had. */
  readonly parts: number
  /** The walk that is next, and the position in it; null for its beginning. */
  readonly walk: string
  readonly after: string | null
  /** Rows that this round has checked, and the whole last round; null in the first one. */
  readonly rows: number
  readonly lastRows: number | null
  /** Findings of this round so far, and of the whole last one. */
  readonly found: number
  readonly lastFound: number
}

/** No part has found anything since the beginning of the last whole round. */
export const isClean = ({ walk, found, lastFound }: VerifyProgress): boolean =>
  found === 0 && (walk === '' || lastFound === 0)

/** A round over all rows takes at most so many parts. */
export const partsPerRound = 14

/** A position is saved to the disk after so many steps, and at the end of each walk. */
const stepsPerSave = 20

/** Rows that were being written when a part began may be dated before it, by this much at most. */
const overlapMs = 120_000

export type PartOutcome = {
  readonly findings: readonly Finding[]
  readonly covered: Readonly<Record<string, number>>
  readonly progress: VerifyProgress
  readonly isRoundDone: boolean
}

/** Every walk of all verifiers in a fixed order; a verifier without walks is one step. */
function walksOf(verifiers: readonly Verifier[]): Walk[] {
  return verifiers.flatMap((verifier): Walk[] => {
    const whole: Walk = { name: verifier.name, step: async () => toStep(await auditOf(verifier)) }
    return verifier.walks?.map(({ name, step }) => ({ name: `${verifier.name}: ${name}`, step })) ?? [whole]
  })
}

/** A whole verifier counts as the rows that it covers. */
const toStep = (audit: Audit): WalkStep => ({
  ...audit,
  rows: Math.max(1, ...Object.values(audit.covered)),
})

/**
 * Verifies what is new since the last part, and the next rows of a round over all: as many as let the round end in
 * `partsPerRound` parts. The first round is one part. `save` is called every few steps with all
 * findings of this part: an interrupted part continues there.
 */
export async function verifyPart(
  verifiers: readonly Verifier[],
  of: {
    readonly progress: VerifyProgress | undefined
    readonly clock: Clock
    readonly save: (progress: VerifyProgress, findings: readonly Finding[]) => Promise<void> | void
    readonly onStep?: (walk: string, rows: number) => void
  },
): Promise<PartOutcome> {
  const walks = walksOf(verifiers)
  const findings: Finding[] = []
  const covered: Record<string, number> = {}
  const nowMs = of.clock()
  const known = of.progress
  let progress: VerifyProgress = begin(known, walks, nowMs)
  const add = (audit: Audit): void => {
    progress = { ...progress, found: progress.found + audit.findings.length }
    for (const each of audit.findings) if (findings.length <= maxFindings) findings.push(each)
    for (const [what, count] of Object.entries(audit.covered)) covered[what] = (covered[what] ?? 0) + count
  }
  if (known) {
    for (const { checkSince } of verifiers) if (checkSince) add(await checkSince(known.partAt - overlapMs))
  }
  const max = maxRowsOf(progress)
  const doneBefore = progress.rows
  let steps = 0
  for (;;) {
    const index = walks.findIndex(({ name }) => name === progress.walk)
    const walk = walks[Math.max(index, 0)]
    if (!walk) break
    const step = await stepOf(walk.name, walk, index < 0 ? undefined : (progress.after ?? undefined))
    add(step)
    const next = step.next === undefined ? walks[Math.max(index, 0) + 1] : walk
    progress = { ...progress, rows: progress.rows + step.rows, walk: next?.name ?? '', after: step.next ?? null }
    of.onStep?.(walk.name, step.rows)
    if (!next) break
    steps += 1
    if (next !== walk || steps % stepsPerSave === 0) await of.save(progress, findings)
    if (progress.rows - doneBefore >= max) break
  }
  const isRoundDone = progress.walk === ''
  await of.save(progress, findings)
  return { findings, covered, progress, isRoundDone }
}

/** The next part of the round, or the first of a new one. */
function begin(known: VerifyProgress | undefined, walks: readonly Walk[], nowMs: number): VerifyProgress {
  const first = walks[0]?.name ?? ''
  if (known && known.walk !== '') return { ...known, partAt: nowMs, parts: known.parts + 1 }
  return {
    roundAt: nowMs,
    partAt: nowMs,
    parts: 1,
    walk: first,
    after: null,
    rows: 0,
    lastRows: known?.rows ?? null,
    found: 0,
    lastFound: known?.found ?? 0,
  }
}

/** The last part of a round, and a round whose rows are not known yet, go to the end. */
function maxRowsOf({ parts, lastRows }: VerifyProgress): number {
  if (lastRows === null || parts >= partsPerRound) return Number.POSITIVE_INFINITY
  return Math.ceil(lastRows / (partsPerRound - 1))
}
