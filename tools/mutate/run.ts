/**
 * Mutation testing: makes one small change at a time in a copy of the checkout and runs the tests that can find it.
 *
 *     npm run mutate -- [--count 100] [--seed 1] [--seconds 90] [--only src/domains/ledger]… [--again] [--list]
 *
 * A stopped run resumes at its first untried change. `--again` tries the survivors a second time. `--list` prints the
 * changes and tries none. The results are in `coverage/mutate`.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { constants, setPriority, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../../test/harness/postgres.ts'
import { findChanges } from './changes.ts'
import { draw, isChanged, type Mutant, nameOf, toMutant } from './draw.ts'
import { byEngine, inBatches, orderTests, readLinks } from './order.ts'
import { addRecord, type Explained, type Record, readRecords, toSummary, writeSurvivors } from './record.ts'
import { tryMutant, type Workspace } from './trial.ts'

const root = resolve(import.meta.dir, '../..')
/** Other processes of the machine have priority. */
const niceness = 10
const batchMs = 8000
/** Durations of tests that tools/timings.json lacks: unit tests are quick, tests of the whole program are not. */
const unknownMs = { part: 2000, whole: 20_000 }

const { values: options } = parseArgs({
  options: {
    count: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '90' },
    only: { type: 'string', multiple: true, default: [] },
    again: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
})

/** Files that git tracks or would track. Only these are copied. */
function listFiles(): string[] {
  const { stdout } = Bun.spawnSync(['git', 'ls-files', '-co', '--exclude-standard'], { cwd: root })
  return stdout.toString().split('\n').filter(Boolean)
}

const paths = listFiles()
const code = paths.filter((path) => /\.(?:ts|mjs)$/.test(path))
const texts = new Map(code.map((path) => [path, readFileSync(join(root, path), 'utf8')]))
const links = readLinks(texts)
const timings = JSON.parse(readFileSync(join(root, 'tools/timings.json'), 'utf8')) as {
  files: { [test: string]: number }
}
const costMs = (test: string) => timings.files[test] ?? (test.startsWith('src/') ? unknownMs.part : unknownMs.whole)

function drawMutants(): Mutant[] {
  const all = [...texts].flatMap(([path, text]) =>
    isChanged(path, options.only) ? findChanges(path, text).map((change) => toMutant(text, change)) : [],
  )
  console.log(`${all.length} changes are possible in ${new Set(all.map(({ path }) => path)).size} files`)
  return draw(all, Number(options.seed), Number(options.count))
}

const recordFile = join(root, 'coverage/mutate', `seed-${options.seed}.jsonl`)
const survivorsFile = join(root, 'coverage/mutate', `seed-${options.seed}.md`)
const explained = JSON.parse(readFileSync(join(import.meta.dir, 'explained.json'), 'utf8')) as Explained[]
/** Reviewed survivors. No test runs for them. */
const known = new Set(explained.map(nameOf))

const folder = mkdtempSync(join(tmpdir(), 'tp-mutate-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => process.exit(128 + constants.signals[signal]))
}

function makeWorkspace(postgresUrl: string): Workspace {
  const copy = join(folder, 'copy')
  for (const path of paths) cpSync(join(root, path), join(copy, path))
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  const env = { TURNPIKE_TEST_POSTGRES_URL: postgresUrl }
  return { root: copy, temporary: join(folder, 't'), env, sources: texts, sound: new Set() }
}

async function tryAll(mutants: readonly Mutant[], records: Map<string, Record>): Promise<void> {
  const postgres = await startPostgres()
  try {
    const workspace = makeWorkspace(postgres.url)
    for (const [index, mutant] of mutants.entries()) {
      const earlier = records.get(nameOf(mutant))
      if (known.has(nameOf(mutant))) {
        records.set(nameOf(mutant), { ...mutant, outcome: 'survived', by: 'not tried', tookMs: 0 })
        continue
      }
      if (earlier && !(options.again && earlier.outcome === 'survived')) continue
      const batches = byEngine(mutant.path, orderTests(links, mutant.path, costMs)).flatMap(({ engine, tests }) =>
        inBatches(tests, costMs, batchMs).map((each) => ({
          tests: each,
          env: { TURNPIKE_TEST_GATEWAY_ENGINE: engine },
        })),
      )
      const outcome = await tryMutant(workspace, mutant, batches, Number(options.seconds) * 1000)
      const { path, line, kind, before, after } = mutant
      const record = { path, line, kind, before, after, ...outcome }
      addRecord(recordFile, record)
      records.set(nameOf(mutant), record)
      const took = `${(outcome.tookMs / 1000).toFixed(0)} s`
      console.log(`${index + 1} ${outcome.outcome} ${path}:${line} ${kind} (${took}; ${outcome.by})`)
      if (outcome.outcome === 'survived') console.log(`  - ${before}\n  + ${after}`)
    }
  } finally {
    await postgres.stop()
  }
}

setPriority(niceness)
const mutants = drawMutants()
if (options.list) {
  for (const mutant of mutants)
    console.log(`${mutant.path}:${mutant.line} ${mutant.kind}\n  - ${mutant.before}\n  + ${mutant.after}`)
} else {
  const records = readRecords(recordFile)
  await tryAll(mutants, records)
  const drawn = mutants.flatMap((mutant) => records.get(nameOf(mutant)) ?? [])
  writeSurvivors(survivorsFile, drawn, explained)
  console.log(toSummary(drawn, explained))
}
process.exit(0)
