import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { apply } from './changes.ts'
import type { Mutant } from './draw.ts'

/** A copy of the checkout in which one file at a time is changed. */
export type Workspace = {
  readonly root: string
  /** TMPDIR of the started programs, removed after each trial. */
  readonly temporary: string
  readonly env: Readonly<Record<string, string>>
  readonly sources: ReadonlyMap<string, string>
  /** Tests that failed with a change and passed without it. */
  readonly sound: Set<string>
}

export type Outcome = {
  readonly outcome: 'noticed' | 'survived'
  /** The test that failed, or `types`; for a survivor, how far the search came. */
  readonly by: string
  readonly tookMs: number
}

/** Test files that one process runs, with additional environment variables. */
export type Batch = { readonly tests: readonly string[]; readonly env?: Readonly<Record<string, string>> }

type Ended = { readonly exitCode: number; readonly output: string; readonly isCut: boolean }

/** Timeout of one test. It finds a change that makes the code wait for ever. */
const perTestMs = 20_000
const endGraceMs = 2000
const typesWithinMs = 120_000
/** Batches that run before the type checker, because the nearest tests are quicker than it. */
const batchesBeforeTypes = 2

/** Applies the change, runs batches of tests until one fails or the time is over, and restores the file. */
export async function tryMutant(
  workspace: Workspace,
  mutant: Mutant,
  batches: readonly Batch[],
  withinMs: number,
): Promise<Outcome> {
  const startedMs = performance.now()
  const tookMs = () => Math.round(performance.now() - startedMs)
  const only = mutant.path.startsWith('src/db/') ? undefined : notOnPostgres
  let ran = 0
  change(workspace, mutant)
  try {
    for (const [index, batch] of batches.entries()) {
      if (index === batchesBeforeTypes && (await failsTypes(workspace))) {
        return { outcome: 'noticed', by: 'types', tookMs: tookMs() }
      }
      const leftMs = withinMs - tookMs()
      if (leftMs <= 0) break
      const failure = findFailure(await runTests(workspace, batch, leftMs, only))
      if (failure === 'none') {
        ran += batch.tests.length
      } else if (failure !== 'unknown' && (await isReal(workspace, mutant, failure, { only, env: batch.env ?? {} }))) {
        return { outcome: 'noticed', by: `${failure.file}: ${failure.test}`, tookMs: tookMs() }
      }
    }
    if (batches.length <= batchesBeforeTypes && (await failsTypes(workspace))) {
      return { outcome: 'noticed', by: 'types', tookMs: tookMs() }
    }
    return {
      outcome: 'survived',
      by: `${ran} of ${batches.flatMap(({ tests }) => tests).length} files of tests`,
      tookMs: tookMs(),
    }
  } finally {
    restore(workspace, mutant)
  }
}

async function failsTypes(workspace: Workspace): Promise<boolean> {
  const { exitCode, isCut } = await run(
    workspace,
    [join(workspace.root, 'node_modules/.bin/tsc'), '--noEmit'],
    typesWithinMs,
  )
  return exitCode !== 0 && !isCut
}

function change({ root, sources }: Workspace, mutant: Mutant): void {
  writeFileSync(join(root, mutant.path), apply(sources.get(mutant.path) ?? '', mutant))
}

function restore({ root, sources }: Workspace, mutant: Mutant): void {
  writeFileSync(join(root, mutant.path), sources.get(mutant.path) ?? '')
}

/**
 * Whether the change causes the failure: the test fails a second time, alone or in its file, and passes without the
 * change. A test that is late on a busy machine, or that cannot pass on this machine, does not count.
 */
async function isReal(
  workspace: Workspace,
  mutant: Mutant,
  failure: Failure,
  { only, env }: { only: string | undefined; env: Readonly<Record<string, string>> },
): Promise<boolean> {
  const alone = { tests: [failure.file], env }
  for (const scope of failure.test === undefined ? [only] : [patternOf(failure.test), only]) {
    const fails = async () => findFailure(await runTests(workspace, alone, perTestMs * 2, scope)) !== 'none'
    if (!(await fails())) continue
    const name = `${failure.file}: ${failure.test} ${scope} ${JSON.stringify(env)}`
    if (workspace.sound.has(name)) return true
    restore(workspace, mutant)
    const failsWithout = await fails()
    change(workspace, mutant)
    if (failsWithout) continue
    workspace.sound.add(name)
    return true
  }
  return false
}

type Failure = { readonly file: string; readonly test: string | undefined }

/** The first failure in the runner's output; `unknown` if the runner was ended before it reported one. */
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

/** The runner prints ` > ` between describe names and titles, and its `-t` filter does not match it. */
const patternOf = (test: string): string => test.replace(/[^\w\s]/g, '.').replaceAll(' . ', ' (?:. )?')

/** SQLite tests find a changed statement. Only changes in `src/db` also need PostgreSQL. */
const notOnPostgres = '^(?!.*postgres)'

async function runTests(workspace: Workspace, { tests, env }: Batch, withinMs: number, only?: string): Promise<Ended> {
  const flags = ['--no-env-file', 'test', '--bail=1', '--no-orphans', `--timeout=${perTestMs}`]
  const filter = only === undefined ? [] : ['-t', only]
  return run(workspace, [process.execPath, ...flags, ...filter, ...tests.map((file) => `./${file}`)], withinMs, env)
}

/** Runs a program in its own process group, and kills the group when the program or the time ends. */
async function run(workspace: Workspace, command: readonly string[], withinMs: number, env = {}): Promise<Ended> {
  mkdirSync(workspace.temporary, { recursive: true })
  const child = Bun.spawn([...command], {
    cwd: workspace.root,
    env: { ...process.env, ...workspace.env, ...env, TMPDIR: workspace.temporary },
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
  rmSync(workspace.temporary, { recursive: true, force: true })
  return { exitCode, output: `${out}\n${err}`, isCut }
}

function endGroup(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // All processes of the group have ended.
  }
}
