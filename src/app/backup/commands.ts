import { resolve } from 'node:path'
import { type Command, mistyped, type Outcome } from '../../cli/command.ts'
import { readTextFile, showProgress, verdictLines } from '../../cli/print.ts'
import { sayVerdict, type Verifier, verifyAll } from '../../core/finding.ts'
import type { OnProgress } from '../../db/copy/copy.ts'
import { configOf } from '../process.ts'
import { backUp, countRows } from './backup.ts'
import { move } from './move.ts'
import { restore } from './restore.ts'

const folderArg = (meaning: string) => ({ name: 'FOLDER', meaning })

function progressing(): { readonly onProgress: OnProgress; readonly end: () => void } {
  let table: string | undefined
  let line: ReturnType<typeof showProgress> | undefined
  const onProgress: OnProgress = (name, rows) => {
    if (name !== table) {
      line?.end()
      line = showProgress(name)
      table = name
    }
    line?.tell(rows)
  }
  return { onProgress, end: () => line?.end() }
}

async function verify(verifiers: readonly Verifier[]): Promise<Outcome> {
  let progress = showProgress('')
  const found = await verifyAll(verifiers, (name) => {
    progress.end()
    progress = showProgress(name)
    return progress.tell
  })
  progress.end()
  const verdict = sayVerdict(found)
  return { json: verdict, lines: verdictLines(verdict), exit: verdict.ok ? 0 : 1 }
}

/** Keeps the output of `verify` for the answer of the command. */
function verifying() {
  let report: Outcome = { json: null, lines: [] }
  return {
    async verify(verifiers: readonly Verifier[]): Promise<boolean> {
      report = await verify(verifiers)
      return report.exit === 0
    },
    report: () => report,
  }
}

export const backupCommands: readonly Command[] = [
  {
    name: 'backup',
    summary: 'Writes a backup of the shop, which may be selling meanwhile, into a new folder.',
    takes: [folderArg('where; it must not be there, or be empty')],
    options: [],
    async run(given) {
      const folder = resolve(given.args[0] ?? '')
      const progress = progressing()
      const manifest = await backUp(configOf(given), folder, Date.now, progress.onProgress)
      progress.end()
      const { checkpoint, made_at, engine, schema } = manifest
      return {
        json: { folder, made_at, engine, schema, rows: countRows(manifest), checkpoint },
        lines: [
          `${folder}: ${countRows(manifest)} rows as of ${manifest.began_at} or later, schema ${schema}.`,
          'Restore it into an empty folder now and then: only that shows that it is good.',
        ],
      }
    },
  },
  {
    name: 'restore',
    summary: 'Brings a backup back into an empty --data or --database-url, and verifies it before it may be opened.',
    takes: [folderArg('the backup')],
    options: [],
    async run(given) {
      const folder = resolve(given.args[0] ?? '')
      const progress = progressing()
      const check = verifying()
      const { manifest, isRight } = await restore(configOf(given), folder, {
        clock: Date.now,
        onProgress: progress.onProgress,
        verify: (verifiers) => {
          progress.end()
          return check.verify(verifiers)
        },
      })
      const instants = { began_at: manifest.began_at, made_at: manifest.made_at }
      return {
        json: { restored: isRight, ...instants, rows: countRows(manifest), verify: check.report().json },
        lines: [
          ...check.report().lines,
          isRight
            ? `Restored what the shop was at ${manifest.began_at}, when the backup began, or a little later. ` +
              'What happened after that is not in it: see docs/operate.'
            : 'It is not restored: something in it is wrong.',
        ],
        exit: isRight ? 0 : 1,
      }
    },
  },
  {
    name: 'move',
    summary: 'Carries the stopped shop to another database, compares every table, verifies it, and closes the old one.',
    takes: [],
    options: [
      { flag: 'to', value: 'URL|FOLDER', meaning: 'postgres://… or a data folder for SQLite; it must be empty' },
      {
        flag: 'to-file',
        value: 'FILE',
        meaning: 'a file with that in it, because others see the command line; - reads it from the input',
      },
    ],
    run: (given) => runMove(given),
  },
]

async function readDestination({ to, 'to-file': file }: Parameters<Command['run']>[0]['flags']): Promise<string> {
  if (to !== undefined && file !== undefined) throw mistyped('"move" wants --to or --to-file, not both.')
  const destination = file === undefined ? to : (await readTextFile(file)).trim()
  if (destination === undefined || destination === '') {
    throw mistyped('"move" wants --to, postgres://… or a data folder, or a file with that as --to-file.')
  }
  return destination
}

async function runMove(given: Parameters<Command['run']>[0]): Promise<Outcome> {
  const to = await readDestination(given.flags)
  const beganAt = performance.now()
  const progress = progressing()
  const check = verifying()
  const moved = await move(configOf(given), to, {
    clock: Date.now,
    onProgress: progress.onProgress,
    verify: (verifiers) => {
      progress.end()
      return check.verify(verifiers)
    },
  })
  const tables = Object.values(moved.held)
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  const tookMs = Math.round(performance.now() - beganAt)
  return {
    json: {
      moved: moved.isRight,
      to: moved.to,
      tables: tables.length,
      rows,
      took_ms: tookMs,
      verify: check.report().json,
    },
    lines: [
      ...check.report().lines,
      ...(moved.isRight
        ? [
            `Moved ${rows} rows of ${tables.length} tables to ${moved.to} in ${(tookMs / 1000).toFixed(1)} s: ` +
              'all are the same.',
            'The old place is closed and stays as it is. Start the shop on the new one: ' +
              (moved.to.startsWith('postgres')
                ? 'set TURNPIKE_DATABASE_URL.'
                : 'set TURNPIKE_DATA, and no TURNPIKE_DATABASE_URL.'),
          ]
        : ['It is not moved: something in it is wrong. The shop is where it was.']),
    ],
    exit: moved.isRight ? 0 : 1,
  }
}
