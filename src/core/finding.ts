import { type KeyAndParams, type Message, messagesOf, toText } from './messages/catalogue.ts'
import { type FindingSentences, findingsEn } from './messages/findings-en.ts'
import { type Kopecks, toRoubleText } from './money.ts'
import { Refusal } from './refusal.ts'
import { toIso } from './time.ts'

/** A key of the promises that `verify` checks. */
export type PromiseName = keyof typeof findingsEn.promises

/** What a finding is about, and what is wrong with it: a key of a catalogue with its parameters. */
export type FindingSubject = Message<typeof findingsEn.subjects>
export type FindingProblem = Message<typeof findingsEn.problems>

/** A broken promise that `verify` found. */
export type Finding = FindingProblem & { readonly promise: PromiseName; readonly where: FindingSubject }

/** A part of the database that a verifier could not check. */
type Note = Message<typeof findingsEn.notes>

export const at = messagesOf<typeof findingsEn.subjects>()
export const problem = messagesOf<typeof findingsEn.problems>()
export const note = messagesOf<typeof findingsEn.notes>()

export const found = (
  promise: PromiseName,
  where: FindingSubject,
  ...what: KeyAndParams<typeof findingsEn.problems>
): Finding => ({ promise, where, ...problem(...what) })

/** A stored moment as text; a number that is no moment stays a number. */
export const momentText = (ms: number): string => (Math.abs(ms) <= 8.64e15 ? toIso(Math.trunc(ms)) : String(ms))

/** A stored or computed amount as text in roubles, also where it is out of the range of an amount. */
export const moneyText = (amount: bigint): string => toRoubleText(amount as Kopecks)

/** The problem of a row whose time of creation is not the one in its id. */
export const idDate = (storedAt: number, idAt: number): FindingProblem =>
  problem('id_date', { stored: momentText(storedAt), expected: momentText(idAt) })

/** Result of one verifier: findings, how much it covered, and notes on what it could not check. */
export type Audit = {
  readonly findings: readonly Finding[]
  readonly covered: Readonly<Record<string, number>>
  readonly notes?: readonly Note[]
}

/**
 * One domain's part of `verify`. `onProgress` is called now and then with the number of checked items. The walks make
 * the same checks some rows at a time; without them the part is verified in one step.
 */
export type Verifier = {
  readonly name: string
  readonly verify: (onProgress?: (done: number) => void) => Promise<Audit>
  readonly walks?: readonly Walk[]
  /** Checks what was written since a moment, before its turn in the walks. */
  readonly checkSince?: (sinceAt: number) => Promise<Audit>
}

/** Checks that can continue where an earlier step ended, from the beginning without a position. */
export type Walk = {
  readonly name: string
  readonly step: (after: string | undefined) => Promise<WalkStep>
}

/** `next` is the position after these rows; without it the walk has come to its end. */
export type WalkStep = Audit & { readonly rows: number; readonly next?: string }

/** Findings past this many are counted, not listed. */
export const maxFindings = 1000

/** Runs one check. A failure is a finding and the rest continues; an error of the database ends the verifier. */
export async function attempt(
  findings: Finding[],
  of: Pick<Finding, 'promise' | 'where'>,
  look: () => Promise<void> | void,
): Promise<void> {
  try {
    await look()
  } catch (error) {
    if (error instanceof Refusal || !(error instanceof Error) || isDatabaseError(error)) throw error
    findings.push(found(of.promise, of.where, 'check_failed', { error: error.message }))
  }
}

/** Runs one verifier; its failure is a finding. */
export async function auditOf(verifier: Verifier, onProgress?: (done: number) => void): Promise<Audit> {
  try {
    return await verifier.verify(onProgress)
  } catch (error) {
    return toFailed(verifier.name, error)
  }
}

/** Runs one step of a walk; its failure is a finding, and ends the walk. */
export async function stepOf(name: string, walk: Walk, after: string | undefined): Promise<WalkStep> {
  try {
    return await walk.step(after)
  } catch (error) {
    return { ...toFailed(name, error), rows: 1 }
  }
}

function toFailed(name: string, error: unknown): Audit {
  if ((error instanceof Refusal && error.kind === 'unavailable') || !(error instanceof Error)) throw error
  return { findings: [found('verifier', at('part', { name }), 'part_failed', { error: error.message })], covered: {} }
}

/** Only an error of the engine has such a code. */
const isDatabaseError = (error: Error): boolean =>
  'code' in error && typeof error.code === 'string' && /^(SQLITE|ERR_POSTGRES)/.test(error.code)

export type VerifyOutcome = Awaited<ReturnType<typeof verifyAll>>

/**
 * Runs the verifiers in order. `onPart` gets the name of each and returns its progress callback. `found` counts all
 * findings; at most 1000 are listed.
 */
export async function verifyAll(verifiers: readonly Verifier[], onPart: (name: string) => (done: number) => void) {
  const findings: Finding[] = []
  const covered: Record<string, number> = {}
  const notes: Note[] = []
  for (const verifier of verifiers) {
    const audit = await auditOf(verifier, onPart(verifier.name))
    findings.push(...audit.findings)
    Object.assign(covered, audit.covered)
    notes.push(...(audit.notes ?? []))
  }
  const { length } = findings
  return { ok: length === 0, findings: findings.slice(0, maxFindings), found: length, covered, notes }
}

/** A finding with its sentences, as an answer shows it. */
export function sayFinding(finding: Finding, { promises, subjects, problems, advices }: FindingSentences = findingsEn) {
  const { promise, where, reason, params } = finding
  return {
    promise,
    promise_name: promises[promise],
    where: toText(subjects, where),
    problem: toText(problems, finding),
    advice: promise in advices ? advices[promise as keyof typeof advices] : advices.other,
    reason,
    params: { ...params },
  }
}

/** A verdict with its sentences, as an answer shows it. */
export const sayVerdict = (verdict: VerifyOutcome, sentences: FindingSentences = findingsEn) => ({
  ...verdict,
  findings: verdict.findings.map((each) => sayFinding(each, sentences)),
  covered: { ...verdict.covered },
  notes: verdict.notes.map((each) => toText(sentences.notes, each)),
})
