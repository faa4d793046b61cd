/**
 * The test command: every static check, then every test against both database engines, all of them even when one fails,
 * so that one run shows all faults. The last line is the verdict: `N passed, N failed`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { prepareMachine } from '../test/harness/apt.ts'
import { type Prepared } from '../test/harness/database.ts'
import { type Postgres, startPostgres } from '../test/harness/postgres.ts'
import { prepareDatabases } from '../test/harness/prepared.ts'
import { isOfGateways, isOfLongRuns } from './gateway-tests.ts'
import { addTallies, findFailed, findNotRun, readTestReport, type Tally, toVerdict } from './verdict.ts'

type Step = { readonly name: string; readonly command: readonly string[]; readonly env?: Record<string, string> }
type Outcome = { readonly step: Step; readonly exitCode: number; readonly output: string; readonly tookMs: number }

const root = resolve(import.meta.dir, '..')
const isLong = process.argv.includes('--long')
const filters = process.argv.slice(2).filter((argument) => argument !== '--long')

// Against what hangs. A machine of which others have the most for an hour takes four times as long as it should.
const perTestMs = isLong ? 1_800_000 : 300_000
const wholeRunMs = isLong ? 6 * 3_600_000 : 4_200_000
const staticStepMs = 300_000
const stepsAtOnce = 2
/** Files run beside each other, each in a world of its own; many of them wait more than they compute. */
const filesAtOnce = 3

const staticSteps: readonly Step[] = [
  { name: 'format', command: [installed('biome'), 'check', '--error-on-warnings', '.'] },
  { name: 'lint', command: [installed('oxlint'), '--deny-warnings', '--report-unused-disable-directives'] },
  { name: 'types', command: [installed('tsc'), '--noEmit'] },
  { name: 'types of the console', command: [installed('tsc'), '--noEmit', '-p', 'src/console'] },
  // Built from the source as it is now, for the tests of pages.
  { name: 'console', command: [process.execPath, 'tools/console/run.ts'] },
  { name: 'tidy', command: [process.execPath, 'tools/tidy/run.ts'] },
  { name: 'unused', command: [installed('knip'), '--no-progress', '--no-config-hints'] },
]

/** Removed however the run ends, short of `kill -9`. The database server looks after itself. */
const reportFolder = mkdtempSync(join(tmpdir(), 'turnpike-test-'))
process.on('exit', () => rmSync(reportFolder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => process.exit(128 + constants.signals[signal]))
}

function installed(program: string): string {
  return join(root, 'node_modules', '.bin', program)
}

async function runStep(step: Step, limitMs: number): Promise<Outcome> {
  const startedMs = performance.now()
  const child = Bun.spawn([...step.command], {
    cwd: root,
    env: { ...process.env, ...step.env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: limitMs,
    killSignal: 'SIGKILL',
  })
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  const tookMs = performance.now() - startedMs
  const cut = child.signalCode === null ? '' : `\nended by ${child.signalCode} after ${Math.round(tookMs)} ms\n`
  return { step, exitCode: child.exitCode ?? 1, output: out + err + cut, tookMs }
}

/** The heading of a step, and what it said if it failed: the names of tests first, for whoever reads only the top. */
function report(name: string, failed: boolean, tookMs: number, output: string): void {
  console.log(`${failed ? 'FAIL' : 'ok  '} ${name} (${(tookMs / 1000).toFixed(1)} s)`)
  if (failed) console.log([...findFailed(output), output.trimEnd()].join('\n'))
}

async function runStaticSteps(): Promise<Tally> {
  const waiting = [...staticSteps]
  let tally: Tally = { passed: 0, failed: 0, skipped: 0 }
  const work = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      const outcome = await runStep(step, staticStepMs)
      const failed = outcome.exitCode !== 0
      report(step.name, failed, outcome.tookMs, outcome.output)
      tally = addTallies(tally, { passed: failed ? 0 : 1, failed: failed ? 1 : 0, skipped: 0 })
    }
  }
  await Promise.all(Array.from({ length: stepsAtOnce }, work))
  return tally
}

function gatewayFiles(): string[] {
  const isWanted = (file: string) => filters.length === 0 || filters.some((filter) => file.includes(filter))
  const files = [...new Bun.Glob('test/**/*.test.ts').scanSync({ cwd: root })]
  return files.filter((file) => isOfGateways(file) && (isLong || !isOfLongRuns(file)) && isWanted(file)).toSorted()
}

type Server = Pick<Postgres, 'url'> & { readonly prepared: Prepared }

async function runTests({ url }: Postgres): Promise<Tally> {
  const server = { url, prepared: await prepareDatabases(url, reportFolder) }
  const all = await runFiles(server, 'tests', 'linux', filters)
  const again = gatewayFiles()
  return again.length === 0 ? all : addTallies(all, await runFiles(server, 'portable engine', 'portable', again))
}

async function runFiles(
  server: Server,
  name: string,
  gatewayEngine: 'linux' | 'portable',
  files: readonly string[],
): Promise<Tally> {
  const reportFile = join(reportFolder, `${gatewayEngine}.xml`)
  // How long each file took once, so that the longest begin first; `TURNPIKE_TEST_TIMINGS=1` writes it anew.
  const timings = [
    `--timings=${join(root, 'tools/timings.json')}`,
    ...(process.env['TURNPIKE_TEST_TIMINGS'] ? ['--update-timings'] : []),
  ]
  const flags = [...timings, '--no-orphans', '--only-failures', `--parallel=${filesAtOnce}`, `--timeout=${perTestMs}`]
  const reporter = ['--reporter=junit', `--reporter-outfile=${reportFile}`]
  const step: Step = {
    name,
    command: [process.execPath, '--no-env-file', 'test', ...flags, ...reporter, ...files],
    env: {
      TURNPIKE_TEST_POSTGRES_URL: server.url,
      TURNPIKE_TEST_PREPARED: JSON.stringify(server.prepared),
      TURNPIKE_TEST_LONG: isLong ? '1' : '',
      TURNPIKE_TEST_GATEWAY_ENGINE: gatewayEngine,
      // Every file is a world of its own, and most are over before what was compiled twice has paid for it.
      BUN_JSC_useDFGJIT: '0',
    },
  }
  const outcome = await runStep(step, wholeRunMs)
  const file = Bun.file(reportFile)
  const tally = readTestReport((await file.exists()) ? await file.text() : '', outcome.output, outcome.exitCode)
  report(`${name}: ${toVerdict(tally)}`, tally.failed > 0, outcome.tookMs, outcome.output)
  for (const reason of findNotRun(outcome.output)) console.log(reason)
  return tally
}

async function runTestsWithPostgres(): Promise<Tally> {
  const startedMs = performance.now()
  let postgres: Postgres
  try {
    postgres = await startPostgres()
  } catch (error) {
    report('postgres', true, performance.now() - startedMs, error instanceof Error ? error.message : String(error))
    return { passed: 0, failed: 1, skipped: 0 }
  }
  try {
    return await runTests(postgres)
  } finally {
    await postgres.stop()
  }
}

const checks = await runStaticSteps()
// Files that run beside each other must not install things beside each other.
const lacking = await prepareMachine()
if (lacking !== undefined) console.log(`note ${lacking}`)
const tests = await runTestsWithPostgres()
const all = addTallies(checks, tests)
if (!isLong)
  console.log(
    'note whole stories ran on one database each, some on one engine, and most commands within the test: ' +
      'npm run test:long runs them on both, and commands as processes',
  )
console.log(toVerdict(all))
process.exit(all.failed > 0 ? 1 : 0)
