export type Tally = { readonly passed: number; readonly failed: number; readonly skipped: number }

export function addTallies(a: Tally, b: Tally): Tally {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped }
}

export function toVerdict(tally: Tally): string {
  const skipped = tally.skipped > 0 ? `, ${tally.skipped} skipped` : ''
  return `${tally.passed} passed, ${tally.failed} failed${skipped}`
}

/**
 * Counts from the runner's JUnit report, which knows nothing of files that did not load: those are only in the printed
 * summary. A runner that crashed, wrote no report, found no test or ended badly without saying why is one failure more:
 * silence never passes.
 */
export function readTestReport(xml: string, output: string, exitCode: number): Tally {
  const head = /<testsuites\b[^>]*>/.exec(xml)?.[0]
  const count = (name: string) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head ?? '')?.[1] ?? 0)
  const tests = count('tests')
  const skipped = count('skipped')
  const failures = count('failures')
  const summarised = [...output.matchAll(/^ *(\d+) fail$/gm)].at(-1)?.[1] ?? '0'
  const failed = Math.max(failures, Number(summarised))
  const isComplete = xml.trimEnd().endsWith('</testsuites>')
  const isUnexplained = tests === 0 || !isComplete || (exitCode !== 0 && failed === 0)
  return { passed: Math.max(0, tests - failures - skipped), failed: failed + (isUnexplained ? 1 : 0), skipped }
}

/** What tests said they cannot do on this machine, each reason once. */
export const findNotRun = (output: string): string[] => [
  ...new Set([...output.matchAll(/^not run here: .+$/gm)].map(([line]) => line)),
]

/** The tests that failed, by file, as the runner names them. */
export function findFailed(output: string): string[] {
  let file = ''
  const found: string[] = []
  for (const line of output.split('\n')) {
    file = /^(\S+\.test\.tsx?):$/.exec(line)?.[1] ?? file
    const name = /^\(fail\) (.+)$/.exec(line)?.[1]
    if (name !== undefined) found.push(`failed: ${file}: ${name}`)
  }
  return [...new Set(found)]
}
