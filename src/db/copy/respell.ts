import { contentsOf } from '../row-history.ts'
import { sendRows } from '../rows.ts'
import type { Database, Tx } from '../transaction.ts'

type Differing = { ordinal: bigint; of_table: string; row_key: string; version: bigint; known: string; now: string }

const page = 2000

/**
 * Rewrites the history rows that differ only in the other engine's spelling: a new version where all are kept, in place
 * otherwise. Real differences stay for `verify` to find. Returns how many were written.
 */
export function respell(db: Database): Promise<number> {
  if (db.engine === 'postgres') return db.transact((tx) => respellBy((work) => work(tx), db.engine), 'unhurried')
  // A transaction of SQLite must be short. No other process has the file open, so pages stay consistent.
  return respellBy((work) => db.transact(work), db.engine)
}

async function respellBy(
  run: <Result>(work: (tx: Tx) => Promise<Result>) => Promise<Result>,
  engine: Database['engine'],
): Promise<number> {
  await run((tx) => gather(engine, tx))
  let written = 0
  for (let from = 0n; ; from += BigInt(page)) {
    const at = from
    const done = await run((tx) => respellPage(tx, at))
    if (done === undefined) break
    written += done
  }
  await run((tx) => tx.run('DROP TABLE respelt'))
  return written
}

async function gather(engine: Database['engine'], tx: Tx): Promise<void> {
  await tx.run(
    `CREATE TEMP TABLE respelt AS
     SELECT row_number() OVER () AS ordinal, now.of_table, now.row_key, latest.version, latest.content AS known,
       now.content AS now
     FROM ${await contentsOf(engine, tx)} AS now
     JOIN row_history AS latest ON latest.of_table = now.of_table AND latest.row_key = now.row_key
     WHERE now.content IS NOT NULL AND latest.content IS NOT NULL AND now.content <> latest.content
       AND NOT EXISTS (SELECT 1 FROM row_history AS later WHERE later.of_table = latest.of_table
         AND later.row_key = latest.row_key AND later.version > latest.version)`,
  )
  await tx.run('CREATE INDEX respelt_in_order ON respelt (ordinal)')
}

/** How many of a page were written; undefined past the last page. */
async function respellPage(tx: Tx, from: bigint): Promise<number | undefined> {
  const found = await tx.all<Differing>(
    'SELECT ordinal, of_table, row_key, version, known, now FROM respelt WHERE ordinal > $1 AND ordinal <= $2',
    [from, from + BigInt(page)],
  )
  if (found.length === 0) return undefined
  const same = found.filter((each) => hasSameValues(each.known, each.now))
  sendRows(
    tx,
    'INSERT INTO row_history (of_table, row_key, version, content)',
    same.filter((each) => each.version > 0n).map((each) => [each.of_table, each.row_key, each.version + 1n, each.now]),
  )
  for (const each of same.filter((one) => one.version === 0n)) {
    tx.send('UPDATE row_history SET content = $3 WHERE of_table = $1 AND row_key = $2 AND version = 0', [
      each.of_table,
      each.row_key,
      each.now,
    ])
  }
  return same.length
}

/** Whether two contents of `row_history` hold equal values: SQLite writes 5 and X'0A', PostgreSQL '5' and E'\\x0a'. */
export function hasSameValues(one: string, other: string): boolean {
  const [first, second] = [valuesOf(one), valuesOf(other)]
  return (
    first !== undefined && first.length === second?.length && first.every((value, index) => value === second[index])
  )
}

const literal = /\s*(?:(NULL)|(sealed)|(-?\d+)|X'([0-9A-Fa-f]*)'|E'((?:[^'\\]|''|\\.)*)'|'((?:[^']|'')*)')(?:,|$)/sy

/** The values of a content; undefined if it is malformed. */
function valuesOf(content: string): (string | null)[] | undefined {
  const values: (string | null)[] = []
  literal.lastIndex = 0
  while (literal.lastIndex < content.length) {
    const match = literal.exec(content)
    if (!match) return undefined
    values.push(valueOf(match))
    if (literal.lastIndex === content.length && content.endsWith(',')) return undefined
  }
  return values
}

function valueOf([, nothing, sealed, number, bytes, escaped, text]: RegExpExecArray): string | null {
  if (nothing !== undefined) return null
  if (bytes !== undefined) return `\\x${bytes.toLowerCase()}`
  if (escaped !== undefined) return escaped.replace(/''/g, `'`).replace(/\\(.)/gs, '$1')
  return sealed ?? number ?? text?.replace(/''/g, `'`) ?? ''
}
