import { type Verifier, verifyAll } from '../kernel/finding.ts'
import type { Outcome } from './command.ts'
import { showProgress } from './progress.ts'

/** Asks every part of `verify`, and tells what is wrong and what to do about it. */
export async function verify(verifiers: readonly Verifier[]): Promise<Outcome> {
  let progress = showProgress('')
  const verdict = await verifyAll(verifiers, (name) => {
    progress.end()
    progress = showProgress(name)
    return progress.tell
  })
  progress.end()
  const { ok, findings, found, covered, notes } = verdict
  const counts = Object.entries(covered).map(([name, count]) => `${count} ${name}`)
  return {
    json: verdict,
    lines: [
      ...findings.map((each) => `WRONG  ${each.promise}: ${each.where}: ${each.problem}`),
      ...[...new Set(findings.map((each) => each.advice))].map((advice) => `TO DO  ${advice}.`),
      ...notes.map((note) => `NOTE   ${note}`),
      ok ? `All promises hold: ${counts.join(', ')}.` : `${found} wrong, among ${counts.join(', ')}.`,
    ],
    exit: ok ? 0 : 1,
  }
}
