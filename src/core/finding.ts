import { Refusal } from './refusal.ts'

/** A broken promise that `verify` found: which one, where, and how. */
export type Finding = { readonly promise: string; readonly where: string; readonly problem: string }

/** Result of one verifier: findings, how much it covered, and notes on what it could not check. */
export type Audit = {
  readonly findings: readonly Finding[]
  readonly covered: Readonly<Record<string, number>>
  readonly notes?: readonly string[]
}

/** One domain's part of `verify`. `onProgress` is called now and then with the number of checked items. */
export type Verifier = {
  readonly name: string
  readonly verify: (onProgress?: (done: number) => void) => Promise<Audit>
}

/** Findings past this many are counted, not listed. */
export const maxFindings = 1000

/** Runs one check. A failure is a finding and the rest continues; an error of the database ends the verifier. */
export async function attempt(
  findings: Finding[],
  of: { readonly promise: string; readonly where: string },
  look: () => Promise<void> | void,
): Promise<void> {
  try {
    await look()
  } catch (error) {
    if (error instanceof Refusal || !(error instanceof Error) || isDatabaseError(error)) throw error
    findings.push({ ...of, problem: `it cannot be checked: ${error.message}` })
  }
}

/** Runs one verifier; its failure is a finding. */
export async function auditOf(verifier: Verifier, onProgress?: (done: number) => void): Promise<Audit> {
  try {
    return await verifier.verify(onProgress)
  } catch (error) {
    if ((error instanceof Refusal && error.kind === 'unavailable') || !(error instanceof Error)) throw error
    const problem = `it could not be read to its end: ${error.message}`
    return { findings: [{ promise: verifier.name, where: 'database', problem }], covered: {} }
  }
}

/** Only an error of the engine has such a code. */
const isDatabaseError = (error: Error): boolean =>
  'code' in error && typeof error.code === 'string' && /^(SQLITE|ERR_POSTGRES)/.test(error.code)

const advices: Readonly<Record<string, string>> = {
  schema: 'stop the shop, compare with the migrations, and put back what is missing before anything is written again',
  file: 'stop the shop, copy the file aside, and restore the last backup that verifies; later sales are in the copy',
  constraint: 'read the rows with the question that the constraint asks, and restore them from a backup',
  history: 'read its versions in row_history and write the right one back; it was changed past the shop',
  checkpoint:
    'keep this database as it is, and compare with a backup from before the checkpoint: the past was rewritten',
}

const adviceFor = (finding: Finding): string =>
  advices[finding.promise] ??
  'compare the row with a backup; a computed value, like a balance, follows from its sources'

/** Result of all verifiers. `found` counts all findings; at most 1000 are listed. */
export type Verdict = {
  readonly ok: boolean
  readonly findings: readonly (Finding & { readonly advice: string })[]
  readonly found: number
  readonly covered: Readonly<Record<string, number>>
  readonly notes: readonly string[]
}

/** Runs the verifiers in order. `onPart` gets the name of each and returns its progress callback. */
export async function verifyAll(
  verifiers: readonly Verifier[],
  onPart: (name: string) => (done: number) => void,
): Promise<Verdict> {
  const findings: Finding[] = []
  const covered: Record<string, number> = {}
  const notes: string[] = []
  for (const verifier of verifiers) {
    const audit = await auditOf(verifier, onPart(verifier.name))
    findings.push(...audit.findings)
    Object.assign(covered, audit.covered)
    notes.push(...(audit.notes ?? []))
  }
  return {
    ok: findings.length === 0,
    findings: findings.slice(0, maxFindings).map((each) => ({ ...each, advice: adviceFor(each) })),
    found: findings.length,
    covered,
    notes,
  }
}
