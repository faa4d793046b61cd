export type TestCounts = { readonly passed: number; readonly failed: number; readonly skipped: number }

export function addCounts(a: TestCounts, b: TestCounts): TestCounts {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped }
}

export function toVerdict(counts: TestCounts): string {
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
  return `${counts.passed} passed, ${counts.failed} failed${skipped}`
}

/**
 * Counts from the runner's JUnit report. Files that did not load are missing in it and counted from the printed
 * summary. A runner that crashed, wrote no report, found no test or exited with an error without a failed test adds
 * one failure.
 */
export function readTestReport(xml: string, output: string, exitCode: number): TestCounts {
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

/** The reasons why tests were not run on this machine, each once. */
export const findNotRun = (output: string): string[] => [
  ...new Set([...output.matchAll(/^not run here: .+$/gm)].map(([line]) => line)),
]

/** The runner's output without passing tests and without files in which nothing failed. */
export function keepFailing(output: string): string {
  const lines = output.split('\n').filter((line) => !/^\((?:pass|skip)\)/.test(line))
  const kept: string[] = []
  let header: string | undefined
  for (const line of lines) {
    if (/^\S+\.test\.ts:$/.test(line)) header = line
    else if (line.trim() !== '' || header === undefined) {
      if (header !== undefined) kept.push('', header)
      header = undefined
      kept.push(line)
    }
  }
  return kept.join('\n').trimEnd()
}

/** Adds what a piece of the runner's output says to the counts of a progress line. */
export function countLines(text: string, counted: { passed: number; failed: number; files: Set<string> }): void {
  for (const line of text.split('\n')) {
    if (line.startsWith('(pass)')) counted.passed += 1
    else if (line.startsWith('(fail)')) counted.failed += 1
    else if (/^\S+\.test\.ts:$/.test(line)) counted.files.add(line)
  }
}

type Case = { readonly file: string; readonly line: string; readonly title: string; readonly seconds: number }
const entities: Readonly<Record<string, string>> = { quot: '"', apos: "'", lt: '<', gt: '>', amp: '&' }

function decode(text: string): string {
  return text.replaceAll(/&(?:#(\d+)|(\w+));/g, (whole, code: string | undefined, name: string | undefined) =>
    code === undefined ? (entities[name ?? ''] ?? whole) : String.fromCodePoint(Number(code)),
  )
}

function readCase(tag: string): Case {
  const attribute = (name: string) => decode(new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? '')
  const title = [attribute('classname'), attribute('name')].filter(Boolean).join(' > ')
  return { file: attribute('file'), line: attribute('line'), title, seconds: Number(attribute('time')) }
}

/** Each failed test of a JUnit report in one line: file, line, title and the first line of its message. */
export const readFailures = (xml: string): string[] =>
  [...xml.matchAll(/(<testcase\b[^>]*[^/])>\s*<failure\b([^>]*)>([^<]*)/g)].map(
    ([, tag = '', failure = '', body = '']) => {
      const { file, line, title } = readCase(tag)
      const at = new RegExp(`${RegExp.escape(file)}:\\d+`).exec(decode(body))?.[0] ?? `${file}:${line}`
      const message = decode(/\bmessage="([^"]+)"/.exec(failure)?.[1] ?? body)
      return `${at} ${title}: ${message.split('\n')[0] ?? ''}`
    },
  )

/** The slowest tests of all reports, longest first. */
export const findSlowest = (reports: readonly string[], count: number): string[] =>
  reports
    .flatMap((xml) => [...xml.matchAll(/<testcase\b[^>]*>/g)].map(([tag]) => readCase(tag)))
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, count)
    .map(({ file, title, seconds }) => `slow ${seconds.toFixed(1)} s ${file} ${title}`)
