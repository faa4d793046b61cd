/**
 * The test command.
 *
 *     npm test -- [--slow] [PATH…]     npm run test:long -- [--slow] [PATH…]     npm run test:gateways -- [PATH…]
 *
 * Runs every test even when one fails; with a PATH only the matching test files. `--slow` lists the ten slowest tests.
 * It prints the 20 files with the most processor seconds; a file over its budget (`budgets.ts`) fails the run. The last
 * line is `N passed, N failed`. The static checks are `npm run check`.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, constants, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { prepareMachine } from '../test/harness/apt.ts'
import type { Prepared } from '../test/harness/database.ts'
import { type Postgres, startPostgres } from '../test/harness/postgres.ts'
import { prepareDatabases } from '../test/harness/prepared.ts'
import { readProcessorSeconds } from '../test/harness/processor-time.ts'
import { findDearest, findOverBudget, readMeasured, toFigures } from './budgets.ts'
import { type Build, createBuildRecord } from './builds.ts'
import { chooseFiles, type Lane, type Part, toGatewayParts, toLanes, toParts } from './parts.ts'
import { inSeconds, projectRoot, runProgram } from './program.ts'
import { type Timings, withUnmeasured } from './timings.ts'
import {
  addCounts,
  countLines,
  findNotRun,
  findSlowest,
  keepFailing,
  readFailures,
  readTestReport,
  type TestCounts,
  toVerdict,
} from './verdict.ts'

const startedAt = performance.now()
const isLong = process.argv.includes('--long')
/** The gateway tests alone, once for each engine and number of reactors. */
const isOfGatewaysOnly = process.argv.includes('--gateways')
const showsSlowest = process.argv.includes('--slow')
const filters = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))

/** Limits against a hang; a starved machine takes several times as long as a quiet one. */
const perTestMs = isLong ? 1_800_000 : 600_000
const wholeRunMs = isLong ? 3 * 3_600_000 : 80 * 60_000
const buildMs = 900_000
const progressEveryMs = 15_000
/** More files than processors: many tests wait for a socket, a process or a database server. */
const filesAtOnce = Math.min(4, availableParallelism() + 2)
const slowestCount = 10
const dearestCount = 20

/** Processor seconds of the dear test files on two quiet cores; `TURNPIKE_TEST_TIMINGS=1` writes them. */
const figuresFile = join(projectRoot, 'tools/processor-seconds.json')

const cache = join(projectRoot, 'node_modules/.cache/turnpike')
const consoleBuild: Build = {
  output: join(projectRoot, 'dist/console'),
  command: [process.execPath, 'tools/console/run.ts'],
}
/** The packed program, with which tests start processes: it starts in half the processor time of the sources. */
const program = join(cache, 'turnpike')
const programBuild: Build = { output: program, command: [process.execPath, 'tools/build-program.ts', program] }

/** Removed however the run ends, except by `kill -9`. The database server ends with this process. */
const reportFolder = mkdtempSync(join(tmpdir(), 'turnpike-test-'))
/** Ports that tests have chosen: two at once would sometimes choose the same. */
const chosenFolder = mkdtempSync(join(reportFolder, 'chosen-'))
/** Processor seconds of each test file, written by the processes that run them. */
const measuredFile = join(reportFolder, 'measured')
process.on('exit', () => rmSync(reportFolder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => process.exit(128 + constants.signals[signal]))
}

/** Failures, which the end of the run repeats. */
const failures: string[] = []

/**
 * Builds the console for browser tests and the packed program, unless both are up to date. Returns the program. With a
 * PATH an outdated program is not built, and in a long run it is not used: tests start processes from the sources.
 */
async function build(): Promise<string> {
  const record = await createBuildRecord(projectRoot, join(cache, 'built.json'))
  const wantsProgram = !isLong && (filters.length === 0 || record.has(programBuild))
  for (const each of wantsProgram ? [consoleBuild, programBuild] : [consoleBuild]) {
    const name = basename(each.output)
    if (record.has(each)) {
      console.log(`ok   build of ${name} (built before from the same files)`)
      continue
    }
    const { exitCode, output, tookMs } = await runProgram(each.command, buildMs)
    if (exitCode !== 0) throw new Error(`${name} was not built:\n${output.trimEnd()}`)
    record.add(each)
    console.log(`ok   build of ${name} (${inSeconds(tookMs)})`)
  }
  return wantsProgram ? program : ''
}

type Server = { readonly url: string; readonly prepared: Prepared; readonly program: string }
type Timed = { readonly name: string; readonly tookMs: number }

const reports: string[] = []

/** Durations of an earlier run, so that the longest files begin first; `TURNPIKE_TEST_TIMINGS=1` writes them. */
function timingFlags(part: Part): string[] {
  const ofProject = join(projectRoot, 'tools/timings.json')
  if (process.env['TURNPIKE_TEST_TIMINGS']) return [`--timings=${ofProject}`, '--update-timings']
  const timings = JSON.parse(readFileSync(ofProject, 'utf8')) as Timings
  const ofRun = join(reportFolder, `${part.name}-${part.engine}-timings.json`)
  writeFileSync(ofRun, JSON.stringify(withUnmeasured(timings, part.files)))
  return [`--timings=${ofRun}`]
}

async function runPart(server: Server, part: Part, atOnce: number): Promise<TestCounts> {
  const reportFile = join(reportFolder, `${part.name}-${part.engine}.xml`)
  const flags = [
    ...timingFlags(part),
    '--no-orphans',
    `--parallel=${atOnce}`,
    // A worker keeps its modules for the next file: importing the shop takes 0.3 s.
    '--no-isolate',
    `--preload=${join(projectRoot, 'test/harness/measure-files-worker.ts')}`,
    `--timeout=${perTestMs}`,
    '--reporter=junit',
    `--reporter-outfile=${reportFile}`,
  ]
  const env = {
    TURNPIKE_TEST_POSTGRES_URL: server.url,
    TURNPIKE_TEST_PREPARED: JSON.stringify(server.prepared),
    TURNPIKE_TEST_PROGRAM: server.program,
    TURNPIKE_TEST_LONG: isLong ? '1' : '',
    TURNPIKE_TEST_GATEWAY_ENGINE: part.engine,
    TURNPIKE_TEST_GATEWAY_REACTORS: process.env['TURNPIKE_TEST_GATEWAY_REACTORS'] ?? String(part.reactors ?? 1),
    TURNPIKE_TEST_CHOSEN: chosenFolder,
    TURNPIKE_TEST_MEASURED: measuredFile,
  }
  const counted = { passed: 0, failed: 0, files: new Set<string>() }
  const progress = setInterval(() => {
    const spent = `${((performance.now() - startedAt) / 1000).toFixed(0)} s`
    const left = part.files.filter((file) => !counted.files.has(`${file}:`))
    const done = `${part.files.length - left.length} of ${part.files.length} files done`
    const last = left.length <= filesAtOnce ? `, left: ${left.join(' ')}` : ''
    console.log(`...  ${part.name}: ${done}, ${counted.passed} passed, ${counted.failed} failed, ${spent}${last}`)
  }, progressEveryMs)
  const command = [process.execPath, '--no-env-file', 'test', ...flags, ...part.files.map((file) => `./${file}`)]
  const outcome = await runProgram(command, wholeRunMs, env, (text) => countLines(text, counted))
  clearInterval(progress)
  const file = Bun.file(reportFile)
  const xml = (await file.exists()) ? await file.text() : ''
  reports.push(xml)
  const counts = readTestReport(xml, outcome.output, outcome.exitCode)
  console.log(
    `${counts.failed > 0 ? 'FAIL' : 'ok  '} ${part.name}: ${toVerdict(counts)} (${inSeconds(outcome.tookMs)})`,
  )
  if (counts.failed > 0) {
    const known = readFailures(xml)
    if (known.length === 0) known.push(`${part.name}: ${outcome.output.trim().split('\n').at(-1) ?? 'no output'}`)
    failures.push(...known)
    // First in one line each: a log that is cut still names them.
    for (const failure of known) console.log(`failed: ${failure}`)
    console.log(keepFailing(outcome.output))
  }
  for (const reason of findNotRun(outcome.output)) console.log(reason)
  return counts
}

/** Starts PostgreSQL and makes the databases that tests copy. */
async function prepareServer(): Promise<{ postgres: Postgres; prepared: Prepared }> {
  const postgres = await startPostgres()
  return { postgres, prepared: await prepareDatabases(postgres.url, reportFolder) }
}

/** Installs missing programs beside the builds and the preparation of databases. */
async function prepare(): Promise<{ server: Server; postgres: Postgres }> {
  const preparing = performance.now()
  const [missing, { postgres, prepared }, builtProgram] = await Promise.all([
    prepareMachine(),
    prepareServer(),
    build(),
  ])
  if (missing !== undefined) console.log(`note ${missing}`)
  console.log(`ok   preparation (${inSeconds(performance.now() - preparing)})`)
  return { server: { url: postgres.url, prepared, program: builtProgram }, postgres }
}

async function runTests(parts: readonly Part[], times: Timed[]): Promise<TestCounts> {
  let prepared: Awaited<ReturnType<typeof prepare>>
  try {
    prepared = await prepare()
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    console.log(`FAIL preparation\n${message}`)
    failures.push(`preparation: ${message.split('\n')[0] ?? ''}`)
    return { passed: 0, failed: 1, skipped: 0 }
  }
  let counts: TestCounts = { passed: 0, failed: 0, skipped: 0 }
  try {
    const runLane = async ({ parts: ownParts, atOnce }: Lane): Promise<void> => {
      for (const part of ownParts) {
        const partStartedAt = performance.now()
        const partCounts = await runPart(prepared.server, part, atOnce)
        counts = addCounts(counts, partCounts)
        times.push({ name: part.name, tookMs: performance.now() - partStartedAt })
      }
    }
    await Promise.all(toLanes(parts, isLong, filesAtOnce).map(runLane))
  } finally {
    await prepared.postgres.stop()
  }
  return counts
}

const files = chooseFiles(
  [...new Bun.Glob('{src,test,tools}/**/*.test.ts').scanSync({ cwd: projectRoot })],
  filters,
  isLong,
)
const parts = isOfGatewaysOnly ? toGatewayParts(files) : toParts(files, isLong)
console.log(`${isLong ? 'long run' : 'run'} of ${files.length} test files, ${filesAtOnce} at a time`)
if (files.length === 0) failures.push(`no test file matches ${filters.join(', ')}`)

const times: Timed[] = []
const counts = files.length === 0 ? { passed: 0, failed: 1, skipped: 0 } : await runTests(parts, times)

const measured = existsSync(measuredFile)
  ? readMeasured(readFileSync(measuredFile, 'utf8'), projectRoot)
  : new Map<string, number>()
const figures = new Map(Object.entries(JSON.parse(readFileSync(figuresFile, 'utf8')) as Record<string, number>))
// Long forms, and tests on more reactors than cores, have no budget.
const overBudget = isLong || isOfGatewaysOnly ? [] : findOverBudget(measured, figures)
failures.push(...overBudget)
if (process.env['TURNPIKE_TEST_TIMINGS'] && !isLong) {
  writeFileSync(figuresFile, `${JSON.stringify(toFigures(measured, figures), undefined, 2)}\n`)
}
const all = addCounts(counts, { passed: 0, failed: overBudget.length, skipped: 0 })

for (const line of findDearest(measured, dearestCount)) console.log(line)
if (showsSlowest) for (const line of findSlowest(reports, slowestCount)) console.log(line)
if (isLong || isOfGatewaysOnly) for (const { name, tookMs } of times) console.log(`time ${name}: ${inSeconds(tookMs)}`)
const ofFiles = measured.values().reduce((sum, each) => sum + each, 0)
const ofAll = readProcessorSeconds(process.pid)
console.log(`time in all: ${inSeconds(performance.now() - startedAt)}`)
console.log(
  `cpu  ${ofAll.toFixed(0)} s in all: ${ofFiles.toFixed(0)} s in test files, the rest in PostgreSQL and preparation`,
)
if (!isLong) {
  const texts = await Promise.all(files.map((file) => Bun.file(join(projectRoot, file)).text()))
  const count = texts.join('').split(/^\s*longTest\(/m).length - 1
  console.log(
    `note npm run test:long: ${count} tests of these files, *.long.test.ts, full counts, all databases and engines`,
  )
}
for (const failure of failures) console.log(`failed: ${failure}`)
console.log(toVerdict(all))
process.exit(all.failed > 0 ? 1 : 0)
