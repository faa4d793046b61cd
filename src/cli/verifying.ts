import { adviceFor, auditOf, type Finding, mostFindings, type Verifier } from '../kernel/finding.ts'
import { showProgress } from './progress.ts'

/** Asks every part of `verify`, and tells what is wrong and what to do about it. */
export async function verify(verifiers: readonly Verifier[]) {
  const findings: Finding[] = []
  const covered: Record<string, number> = {}
  const notes: string[] = []
  for (const verifier of verifiers) {
    const progress = showProgress(verifier.name)
    const audit = await auditOf(verifier, progress.tell)
    progress.end()
    findings.push(...audit.findings)
    Object.assign(covered, audit.covered)
    notes.push(...(audit.notes ?? []))
  }
  const shown = findings.slice(0, mostFindings)
  const counts = Object.entries(covered).map(([name, count]) => `${count} ${name}`)
  const ok = findings.length === 0
  return {
    json: {
      ok,
      findings: shown.map((each) => ({ ...each, advice: adviceFor(each) })),
      found: findings.length,
      covered,
      notes,
    },
    lines: [
      ...shown.map((each) => `WRONG  ${each.promise}: ${each.where}: ${each.problem}`),
      ...[...new Set(shown.map(adviceFor))].map((advice) => `TO DO  ${advice}.`),
      ...notes.map((note) => `NOTE   ${note}`),
      ok ? `All promises hold: ${counts.join(', ')}.` : `${findings.length} wrong, among ${counts.join(', ')}.`,
    ],
    exit: ok ? 0 : 1,
  }
}
