import { existsSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Sample } from './measure.ts'
import type { Stage } from './stage.ts'

/** The first second of connecting and preparing is run and not counted. */
const warmUpSeconds = 1
const threads = 2
/** The limit of a failing pgbench's output: every client repeats the same error. */
const maxShown = 1_000

/** Beside the server's programs, on PATH, or in the usual folder. Undefined if it is not installed. */
export function findPgbench(): string | undefined {
  const server = Bun.which('postgres')
  const beside = server === null ? [] : [join(dirname(realpathSync(server)), 'pgbench')]
  const onPath = Bun.which('pgbench')
  const installed = versionFolders('/usr/lib/postgresql').map((version) =>
    join('/usr/lib/postgresql', version, 'bin/pgbench'),
  )
  return [...beside, ...installed, ...(onPath === null ? [] : [onPath])].find((path) => existsSync(path))
}

const versionFolders = (parent: string): string[] =>
  existsSync(parent) ? readdirSync(parent).toSorted((a, b) => Number(b) - Number(a)) : []

/** A pgbench script on a database. A failed transaction fails the bench, because the work would not be the same. */
export function createPgbench(stage: Stage, program: string, url: string) {
  const folder = stage.makeFolder()
  let scripts = 0

  return (script: string, clients: number, seconds: number): (() => Promise<Sample>) => {
    scripts += 1
    const file = join(folder, `script-${scripts}.sql`)
    writeFileSync(file, script)
    const time = String(Math.ceil(seconds) + warmUpSeconds)
    const flags = ['--no-vacuum', '--protocol=prepared', `--client=${clients}`, `--jobs=${threads}`]
    return async () => {
      const child = Bun.spawn([program, ...flags, `--time=${time}`, '--progress=1', `--file=${file}`, url], {
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      })
      const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
      const failed = /number of failed transactions: ([1-9]\d*)/.test(out)
      if ((await child.exited) !== 0 || failed || /aborted/.test(err))
        throw new Error(`pgbench failed:\n${`${err}${out}`.slice(0, maxShown)}`)
      return readProgress(err)
    }
  }
}

/** `progress: 2.0 s, 7012.9 tps, lat 4.551 ms stddev 1.9`, a line each second. */
function readProgress(text: string): Sample {
  const lines = [...text.matchAll(/^progress: [\d.]+ s, ([\d.]+) tps, lat ([\d.]+) ms/gm)].slice(warmUpSeconds)
  if (lines.length === 0) throw new Error(`pgbench printed no progress:\n${text}`)
  const mean = (group: number) => lines.reduce((sum, line) => sum + Number(line[group]), 0) / lines.length
  return { perSecond: mean(1) }
}
