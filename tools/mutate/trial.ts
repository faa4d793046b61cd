import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { apply } from './changes.ts'
import type { Mutant } from './draw.ts'

/** A copy of the checkout in which one file at a time is changed. */
export type Ground = {
  readonly root: string
  /** What programs started here may leave behind, removed after each trial. */
  readonly temporary: string
  readonly env: Readonly<Record<string, string>>
  readonly sources: ReadonlyMap<string, string>
  /** Tests that failed with a change and were seen to pass without it. */
  readonly sound: Set<string>
}

export type Outcome = {
  readonly outcome: 'noticed' | 'survived'
  /** The test that failed, or `types`; for a survivor, how far the search came. */
  readonly by: string
  readonly tookMs: number
}

/** Files of tests that one process runs, with what it finds in its environment besides. */
export type Batch = { readonly tests: readonly string[]; readonly env?: Readonly<Record<string, string>> }

type Ended = { readonly exitCode: number; readonly output: string; readonly isCut: boolean }

/** One test may take so long: a change that makes something wait for ever is noticed by this. */
const perTestMs = 20_000
const endGraceMs = 2000
const typesWithinMs = 120_000
/** The nearest tests are asked before the types: they are quicker, and say more. */
const batchesBeforeTypes = 2

/** Makes the change, runs tests batch by batch until one fails or the time is over, and takes the change back. */
export async function tryMutant(
  ground: Ground,
  mutant: Mutant,
  batches: readonly Batch[],
  withinMs: number,
): Promise<Outcome> {
  const startedMs = performance.now()
  const tookMs = () => Math.round(performance.now() - startedMs)
  const only = mutant.path.startsWith('src/db/') ? undefined : notOnPostgres
  let ran = 0
  change(ground, mutant)
  try {
    for (const [index, batch] of batches.entries()) {
      if (index === batchesBeforeTypes && (await failsTypes(ground))) {
        return { outcome: 'noticed', by: 'types', tookMs: tookMs() }
      }
      const leftMs = withinMs - tookMs()
      if (leftMs <= 0) break
      const failure = findFailure(await runTests(ground, batch, leftMs, only))
      if (failure === 'none') {
        ran += batch.tests.length
      } else if (failure !== 'unknown' && (await isReal(ground, mutant, failure, { only, env: batch.env ?? {} }))) {
        return { outcome: 'noticed', by: `${failure.file}: ${failure.test}`, tookMs: tookMs() }
      }
    }
    if (batches.length <= batchesBeforeTypes && (await failsTypes(ground))) {
      return { outcome: 'noticed', by: 'types', tookMs: tookMs() }
    }
    return {
      outcome: 'survived',
      by: `${ran} of ${batches.flatMap(({ tests }) => tests).length} files of tests`,
      tookMs: tookMs(),
    }
  } finally {
    restore(ground, mutant)
  }
}

async function failsTypes(ground: Ground): Promise<boolean> {
  const { exitCode, isCut } = await run(ground, [join(ground.root, 'node_modules/.bin/tsc'), '--noEmit'], typesWithinMs)
  return exitCode !== 0 && !isCut
}

function change({ root, sources }: Ground, mutant: Mutant): void {
  writeFileSync(join(root, mutant.path), apply(sources.get(mutant.path) ?? '', mutant))
}

function restore({ root, sources }: Ground, mutant: Mutant): void {
  writeFileSync(join(root, mutant.path), sources.get(mutant.path) ?? '')
}

/**
 * Whether it is the change that makes a test fail: it fails a second time, alone or in its file, and passes so without
 * the change. A test that is late on a busy machine, or that cannot pass here, notices nothing.
 */
async function isReal(
  ground: Ground,
  mutant: Mutant,
  failure: Failure,
  { only, env }: { only: string | undefined; env: Readonly<Record<string, string>> },
): Promise<boolean> {
  const alone = { tests: [failure.file], env }
  for (const scope of failure.test === undefined ? [only] : [patternOf(failure.test), only]) {
    const fails = async () => findFailure(await runTests(ground, alone, perTestMs * 2, scope)) !== 'none'
    if (!(await fails())) continue
    const name = `${failure.file}: ${failure.test} ${scope} ${JSON.stringify(env)}`
    if (ground.sound.has(name)) return true
    restore(ground, mutant)
    const failsWithout = await fails()
    change(ground, mutant)
    if (failsWithout) continue
    ground.sound.add(name)
    return true
  }
  return false
}

type Failure = { readonly file: string; readonly test: string | undefined }

/** What the runner says of its files: nothing failed, this did, or it was ended before it could tell. */
export function findFailure({ exitCode, output, isCut }: Ended): Failure | 'none' | 'unknown' {
  if (exitCode === 0 || /^error: regex .* matched 0 tests/m.test(output)) return 'none'
  let file: string | undefined
  for (const line of output.split('\n')) {
    file = /^(\S+\.test\.ts):$/.exec(line)?.[1] ?? file
    const test = /^\(fail\) (.+?)(?: \[[\d.]+m?s\])?$/.exec(line)?.[1]
    if (file !== undefined && test !== undefined) return { file, test: test === '(unnamed)' ? undefined : test }
  }
  return file === undefined || isCut ? 'unknown' : { file, test: undefined }
}

/** The runner shows groups with a sign between them that it does not match against. */
const patternOf = (test: string): string => test.replace(/[^\w\s]/g, '.').replaceAll(' . ', ' (?:. )?')

/** What is said in a statement is noticed on one engine; only `src/db` knows a difference. */
const notOnPostgres = '^(?!.*postgres)'

async function runTests(ground: Ground, { tests, env }: Batch, withinMs: number, only?: string): Promise<Ended> {
  const flags = ['--no-env-file', 'test', '--bail=1', '--no-orphans', `--timeout=${perTestMs}`]
  const filter = only === undefined ? [] : ['-t', only]
  return run(ground, [process.execPath, ...flags, ...filter, ...tests.map((file) => `./${file}`)], withinMs, env)
}

/** Runs a program in a group of its own, all of which ends with it or with the time. */
async function run(ground: Ground, command: readonly string[], withinMs: number, env = {}): Promise<Ended> {
  mkdirSync(ground.temporary, { recursive: true })
  const child = Bun.spawn([...command], {
    cwd: ground.root,
    env: { ...process.env, ...ground.env, ...env, TMPDIR: ground.temporary },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    detached: true,
  })
  let isCut = false
  const cut = setTimeout(() => {
    isCut = true
    endGroup(child.pid, 'SIGTERM')
    setTimeout(() => endGroup(child.pid, 'SIGKILL'), endGraceMs).unref()
  }, withinMs)
  const [out, err, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  clearTimeout(cut)
  endGroup(child.pid, 'SIGKILL')
  rmSync(ground.temporary, { recursive: true, force: true })
  return { exitCode, output: `${out}\n${err}`, isCut }
}

function endGroup(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // Nobody of the group is left.
  }
}
