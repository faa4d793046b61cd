import type { Sha256 } from '../core/chain.ts'
import { type Audit, at, type Finding, found, maxFindings, type Verifier } from '../core/finding.ts'
import { LineDigest } from '../core/line-digest.ts'
import { bytes, columnsOf, int } from './columns.ts'
import { countBy } from './rows.ts'
import type { Database, Reader, Tx } from './transaction.ts'

/** Content of an erased version. */
export const erasedContent = 'erased'

/** How many versions one checkpoint stamps, which holds SQLite's only writer; the next checkpoint follows at once. */
const maxStampedAtOnce = 10_000
const page = 500

type Version = { of_table: string; row_key: string; version: bigint; content: string | null }

export type Covered = { readonly versions: number; readonly digest: Uint8Array }

/** Versions of the rows that cannot be computed from other rows. */
export function createRowHistory({
  sha256,
  maxStamped = maxStampedAtOnce,
}: {
  readonly sha256: Sha256
  readonly maxStamped?: number
}) {
  /** Digest of all versions stamped with a checkpoint, in a fixed order. */
  async function digestOf(reader: Reader, checkpoint: number): Promise<Covered> {
    const fold = new LineDigest(sha256)
    for (let after: Version | undefined; ; ) {
      const batch = await stampedAfter(reader, checkpoint, after)
      for (const each of batch) {
        fold.add(`${JSON.stringify([each.of_table, each.row_key, String(each.version), each.content])}\n`)
      }
      if (batch.length < page) return { versions: fold.lines, digest: fold.finish() }
      after = batch.at(-1)
    }
  }

  return {
    digestOf,
    amendmentsOf,
    countErased,

    /**
     * Stamps new versions, in the transaction that writes the checkpoint. Every history with new versions gets an equal
     * share, so that a flood of one history delays no other. `isComplete` if none had more than its share.
     */
    async stamp(tx: Tx, checkpoint: number): Promise<Covered & { readonly isComplete: boolean }> {
      const tables = await tx.all<{ of_table: string }>(
        'SELECT DISTINCT of_table FROM row_history WHERE checkpoint IS NULL AND version > 0 ORDER BY of_table',
      )
      const share = Math.max(1, Math.floor(maxStamped / Math.max(1, tables.length)))
      let isComplete = true
      for (const { of_table: table } of tables) {
        const stamped = await tx.run(
          `UPDATE row_history SET checkpoint = $1 WHERE checkpoint IS NULL AND (of_table, row_key, version) IN
             (SELECT of_table, row_key, version FROM row_history
              WHERE checkpoint IS NULL AND version > 0 AND of_table = $2 ORDER BY row_key, version LIMIT $3)`,
          [checkpoint, table, share],
        )
        if (stamped >= share) isComplete = false
      }
      return { ...(await digestOf(tx, checkpoint)), isComplete }
    },

    /** The highest stamped checkpoint, which reveals checkpoints that were cut off. */
    async lastStamp(reader: Reader): Promise<number> {
      const row = await reader.first<{ last: bigint | null }>('SELECT MAX(checkpoint) AS last FROM row_history')
      return Number(row?.last ?? 0n)
    },
  }
}

const amendments = columnsOf({
  number: int('number'),
  versions: int('versions'),
  before: bytes('digest_before'),
  after: bytes('digest_after'),
})

/** The erasures under a checkpoint, in order: how many versions each blanked, and their digest before and after. */
export const amendmentsOf = (reader: Reader, checkpoint: number) =>
  amendments.all(reader, 'SELECT * FROM checkpoint_amendments WHERE checkpoint = $1 ORDER BY number', [checkpoint])

/** More new versions than one hour of honest work makes: checkpoints are behind, or a customer floods the history. */
export const maxUnstamped = 100_000

/** The versions that no checkpoint covers yet: they can be deleted without a trace. Counts up to twice the maximum. */
export const countUnstamped = (reader: Reader): Promise<number> =>
  countBy(
    reader,
    `SELECT COUNT(*) AS n FROM
       (SELECT 1 FROM row_history WHERE checkpoint IS NULL AND version > 0 LIMIT ${2 * maxUnstamped}) AS unstamped`,
  )

const countErased = (reader: Reader, checkpoint: number): Promise<number> =>
  countBy(reader, 'SELECT COUNT(*) AS n FROM row_history WHERE checkpoint = $1 AND content = $2', [
    checkpoint,
    erasedContent,
  ])

function stampedAfter(reader: Reader, checkpoint: number, after: Version | undefined): Promise<Version[]> {
  return reader.all<Version>(
    `SELECT of_table, row_key, version, content FROM row_history
     WHERE checkpoint = $1 AND (of_table, row_key, version) > ($2, $3, $4)
     ORDER BY of_table, row_key, version LIMIT $5`,
    [checkpoint, after?.of_table ?? '', after?.row_key ?? '', after?.version ?? 0, page],
  )
}

/** Compares every row that has a history with its latest version. */
export function createHistoryVerifier({ db }: { readonly db: Database }): Verifier {
  return {
    name: 'history',
    verify: () =>
      db.snapshot(async (reader): Promise<Audit> => {
        const findings: Finding[] = []
        const contents = await contentsOf(db.engine, reader)
        const there = await countRows(reader, db.engine, contents)
        if (there.some(({ differing }) => differing > 0n)) {
          for (const row of await differingRows(reader, contents))
            findings.push(found('history', rowAt(row), 'row_changed'))
        }
        for (const row of await missing(reader, contents, there))
          findings.push(found('history', rowAt(row), 'row_gone'))
        for (const row of await broken(reader)) findings.push(found('history', rowAt(row), 'versions_missing'))
        for (const { of_table: table, kept } of there) {
          for (const row of await misnumbered(reader, table, kept === 1n))
            findings.push(found('history', rowAt(row), 'version_number', { keeps_all: kept === 1n }))
        }
        const versions = await countBy(reader, 'SELECT COUNT(*) AS n FROM row_history')
        return { findings, covered: { 'versions of rows': versions } }
      }),
  }
}

/** SQL for the current content of all rows with a history: the views `row_contents…` of `npm run schema`. */
export async function contentsOf(engine: Database['engine'], reader: Reader): Promise<string> {
  const views = await reader.all<{ name: string }>(
    engine === 'sqlite'
      ? `SELECT name FROM sqlite_master WHERE type = 'view' ORDER BY name`
      : 'SELECT viewname::text AS name FROM pg_views WHERE schemaname = current_schema() ORDER BY viewname',
  )
  const contents = views.map((view) => view.name).filter((name) => /^row_contents(_[a-z_]+)?$/.test(name))
  return `(${contents.map((view) => `SELECT of_table, row_key, kept, content FROM ${view}`).join(' UNION ALL ')})`
}

type Named = Pick<Version, 'of_table' | 'row_key'>

const rowAt = ({ of_table: table, row_key: key }: Named) => at('row', { table, key })

/** The content of a row's latest version, or an empty text. */
const known = `COALESCE((SELECT content FROM row_history AS known
  WHERE known.of_table = now.of_table AND known.row_key = now.row_key ORDER BY version DESC LIMIT 1), '')`

/** Rows that differ from their latest version, or have none. */
const differingRows = (reader: Reader, contents: string): Promise<Named[]> =>
  reader.all<Named>(
    `SELECT of_table, row_key FROM ${contents} AS now WHERE content IS NOT NULL AND content <> ${known} LIMIT $1`,
    [maxFindings],
  )

/** Numbers of rows of a table with a content and of those that differ, and whether all their versions are kept. */
type Counted = { of_table: string; n: bigint; differing: bigint; kept: bigint }

/** One pass over all rows. PostgreSQL plans `known` once, not for each table, if it cannot merge the two queries. */
const countRows = (reader: Reader, engine: Database['engine'], contents: string): Promise<Counted[]> =>
  reader.all<Counted>(
    `SELECT of_table, COUNT(*) AS n, MAX(kept) AS kept,
       SUM(CASE WHEN content <> ${known} THEN 1 ELSE 0 END) AS differing
     FROM ${engine === 'postgres' ? `(SELECT * FROM ${contents} AS every OFFSET 0)` : contents} AS now
     WHERE content IS NOT NULL GROUP BY of_table`,
  )

/** Latest versions without a row, searched only in tables whose counts differ. */
async function missing(reader: Reader, contents: string, there: readonly Counted[]): Promise<Named[]> {
  const counted = await reader.all<Named & { n: bigint }>(
    `SELECT of_table, COUNT(*) AS n FROM row_history AS known WHERE content IS NOT NULL AND NOT EXISTS
       (SELECT 1 FROM row_history AS later WHERE later.of_table = known.of_table AND later.row_key = known.row_key
        AND later.version = known.version + 1)
     GROUP BY of_table`,
  )
  const counts = new Map(there.map((each) => [each.of_table, each.n]))
  const suspects = counted.filter((each) => each.n !== (counts.get(each.of_table) ?? 0n))
  const named: Named[] = []
  for (const { of_table: table } of suspects) named.push(...(await missingOf(reader, contents, table)))
  return named
}

const missingOf = (reader: Reader, contents: string, table: string): Promise<Named[]> =>
  reader.all<Named>(
    `SELECT of_table, row_key FROM row_history AS known
     WHERE of_table = $1 AND content IS NOT NULL AND NOT EXISTS
       (SELECT 1 FROM row_history AS later WHERE later.of_table = known.of_table AND later.row_key = known.row_key
        AND later.version = known.version + 1)
       AND row_key NOT IN (SELECT row_key FROM ${contents} AS now WHERE of_table = $1 AND content IS NOT NULL)
     ORDER BY row_key LIMIT $2`,
    [table, maxFindings],
  )

/** Versions are numbered from 1 without a gap. */
const broken = (reader: Reader): Promise<Named[]> =>
  reader.all<Named>(
    `SELECT of_table, row_key FROM row_history WHERE version > 0
     GROUP BY of_table, row_key HAVING COUNT(*) <> MAX(version) OR MIN(version) <> 1 LIMIT $1`,
    [maxFindings],
  )

/** Rows with all versions are numbered from 1, rows with only the latest have number 0. */
const misnumbered = (reader: Reader, table: string, keepsAll: boolean): Promise<Named[]> =>
  reader.all<Named>(
    `SELECT of_table, row_key FROM row_history WHERE of_table = $1 AND version ${keepsAll ? '= 0' : '> 0'} LIMIT $2`,
    [table, maxFindings],
  )
