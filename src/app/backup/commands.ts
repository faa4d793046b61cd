import { resolve } from 'node:path'
import { type Command, type Given, machineCommand, mistyped, type Outcome } from '../../cli/command.ts'
import { readTextFile, showProgress, verdictLines } from '../../cli/print.ts'
import { sayVerdict, type Verifier, verifyAll } from '../../core/finding.ts'
import { configOf } from '../process.ts'
import { docsPage } from '../program.ts'
import { databaseName } from '../settings/config.ts'
import { backUp, countRows } from './backup.ts'
import { move } from './move.ts'
import { restore } from './restore.ts'

const consequences = 'operate/backup-and-upgrade.md'

const folderArg = (meaning: string) => ({ name: 'FOLDER', meaning })

/** Shows the progress of a command on the terminal, and keeps the report of `verify` for its answer. */
function createWork() {
  let name: string | undefined
  let line: ReturnType<typeof showProgress> | undefined
  let report: Outcome = { json: null, lines: [] }
  const lineOf = (part: string) => {
    if (line && part === name) return line
    line?.end()
    name = part
    line = showProgress(part)
    return line
  }
  return {
    clock: Date.now,
    onProgress: (table: string, rows: number): void => lineOf(table).tell(rows),
    async verify(verifiers: readonly Verifier[]): Promise<boolean> {
      const verdict = sayVerdict(await verifyAll(verifiers, (part) => lineOf(part).tell))
      line?.end()
      report = { json: verdict, lines: verdictLines(verdict) }
      return verdict.ok
    },
    end: () => line?.end(),
    report: () => report,
  }
}

export const backupCommands: readonly Command[] = [
  machineCommand({
    name: 'backup',
    summary: 'Writes a backup of the shop, which may be selling meanwhile, into a new folder.',
    takes: [folderArg('where; it must not be there, or be empty')],
    async run(given) {
      const folder = resolve(given.args[0] ?? '')
      const { clock, onProgress, end } = createWork()
      const manifest = await backUp(configOf(given), folder, clock, onProgress)
      end()
      const { checkpoint, made_at, engine, schema } = manifest
      return {
        json: { folder, made_at, engine, schema, rows: countRows(manifest), checkpoint },
        lines: [
          `${folder}: ${countRows(manifest)} rows as of ${manifest.began_at} or later, schema ${schema}.`,
          'Restore it into an empty folder now and then: only that shows that it is good.',
        ],
      }
    },
  }),
  machineCommand({
    name: 'restore',
    summary: 'Brings a backup back into an empty --data or --database-url, and verifies it before it may be opened.',
    takes: [folderArg('the backup')],
    async run(given) {
      const folder = resolve(given.args[0] ?? '')
      const work = createWork()
      const config = configOf(given)
      const { manifest, isRight } = await restore(config, folder, work)
      const report = work.report()
      const instants = { began_at: manifest.began_at, made_at: manifest.made_at }
      return {
        json: {
          restored: isRight,
          database: databaseName(config),
          ...instants,
          rows: countRows(manifest),
          verify: report.json,
        },
        lines: [
          ...report.lines,
          isRight
            ? `Restored into ${databaseName(config)} what the shop was at ${manifest.began_at}, when the backup ` +
              `began, or a little later. What happened after that is not in it: see ${docsPage(consequences)}.`
            : 'The backup was not restored, because of the problems above. Take another backup.',
        ],
        exit: isRight ? 0 : 1,
      }
    },
  }),
  machineCommand({
    name: 'move',
    summary:
      'Copies the stopped shop to another database, compares every table, verifies the copy, and closes the old one.',
    options: [
      { flag: 'to', value: 'URL|FOLDER', meaning: 'postgres://… or a data folder for SQLite; it must be empty' },
      {
        flag: 'to-file',
        value: 'FILE',
        meaning: 'a file with that in it, because others see the command line; - reads it from the input',
      },
    ],
    run: runMove,
  }),
]

async function readDestination({ to, 'to-file': file }: Given['flags']): Promise<string> {
  if (to !== undefined && file !== undefined) throw mistyped('Give "move" either --to or --to-file, not both.')
  const destination = file === undefined ? to : (await readTextFile(file)).trim()
  if (destination === undefined || destination === '') {
    throw mistyped('"move" requires --to (postgres://… or a data folder), or --to-file with a file that holds it.')
  }
  return destination
}

async function runMove(given: Given): Promise<Outcome> {
  const to = await readDestination(given.flags)
  const beganAt = performance.now()
  const work = createWork()
  const moved = await move(configOf(given), to, work)
  const report = work.report()
  const tables = Object.values(moved.held)
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  const tookMs = Math.round(performance.now() - beganAt)
  return {
    json: { moved: moved.isRight, to: moved.to, tables: tables.length, rows, took_ms: tookMs, verify: report.json },
    lines: [
      ...report.lines,
      ...(moved.isRight
        ? [
            `Moved ${rows} rows of ${tables.length} tables to ${moved.to} in ${(tookMs / 1000).toFixed(1)} s: ` +
              'all are the same.',
            'The old database is closed and unchanged. Start the shop on the new one: ' +
              (moved.to.startsWith('postgres')
                ? 'set TURNPIKE_DATABASE_URL.'
                : 'set TURNPIKE_DATA, and no TURNPIKE_DATABASE_URL.'),
          ]
        : ['The shop was not moved, because of the problems above. Start it where it was.']),
    ],
    exit: moved.isRight ? 0 : 1,
  }
}
