import { bind } from '../core/bind.ts'
import { sameBytes } from '../core/token-text.ts'
import { amendmentsOf, type Covered, erasedContent } from './row-history.ts'
import { chunked, list } from './rows.ts'
import type { Database, Reader, Tx } from './transaction.ts'

/** Limits of one transaction: rows or keys of a kind, and checkpoints. */
const atOnce = 500
const checkpointsAtOnce = 4

/** Rows whose history identifies a customer, and how to find their keys. */
export type Trace = PlainTrace | PersonalTrace

/** `keys` is the SQL condition on the keys of the customer `$1`. */
type PlainTrace = { readonly table: string; readonly keys: string }

/** Keys that begin with one of the `beginnings` of customer `$1` and a space, and so identify one; not `except`. */
type PersonalTrace = { readonly table: string; readonly beginnings: string; readonly except: string }

/** The versions under a checkpoint were tampered with; erasing them now would hide that. */
export class HistoryDiffers extends Error {
  constructor(readonly checkpoint: number) {
    super(`the versions of rows under checkpoint ${checkpoint} are not those it was made over`)
  }
}

/** A version that is not the latest of its row and not blank yet. */
const blankable = `version > 0 AND content IS NOT NULL AND content <> '${erasedContent}' AND EXISTS
  (SELECT 1 FROM row_history AS later WHERE later.of_table = row_history.of_table
   AND later.row_key = row_history.row_key AND later.version = row_history.version + 1)`

type ErasureDeps = {
  readonly db: Database
  readonly history: { readonly digestOf: (reader: Reader, checkpoint: number) => Promise<Covered> }
}

/** Blanks earlier versions of a customer's rows in bounded transactions, which may be repeated. The last one stays. */
export const createRowErasure = (deps: ErasureDeps) => bind(deps, { erase })

/** Changes versions under a checkpoint, and records their digest before and after. */
async function amend(deps: ErasureDeps, tx: Tx, of: Where, change: () => Promise<number>): Promise<number> {
  const { checkpoint, customer, nowMs } = of
  const made = await tx.first<{ versions_digest: Uint8Array }>(
    'SELECT versions_digest FROM checkpoints WHERE number = $1 FOR UPDATE',
    [checkpoint],
  )
  const earlier = await amendmentsOf(tx, checkpoint)
  const known = earlier.at(-1)?.after ?? made?.versions_digest
  const before = (await deps.history.digestOf(tx, checkpoint)).digest
  if (!known || !sameBytes(known, before)) throw new HistoryDiffers(checkpoint)
  const versions = await change()
  const after = (await deps.history.digestOf(tx, checkpoint)).digest
  if (sameBytes(before, after)) return 0
  await tx.run(
    `INSERT INTO checkpoint_amendments (checkpoint, number, customer_id, versions, digest_before, digest_after, at)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [checkpoint, (earlier.at(-1)?.number ?? 0) + 1, customer, versions, before, after, nowMs],
  )
  return versions
}

/**
 * Blanks versions that no checkpoint covers yet, of a bounded number of rows of each table. Few of a row's versions are
 * of that kind. The rows are read first: as one statement PostgreSQL 15 read them again for each version, which took
 * 20 s for 300 rows. Returns the rows found and the versions blanked.
 */
const eraseUnstamped = (deps: ErasureDeps, traces: readonly PlainTrace[], customer: string) =>
  deps.db.transact(async (tx) => {
    const rows: number[] = []
    let versions = 0
    for (const { table, keys } of traces) {
      const found = await tx.all<Pick<Key, 'row_key'>>(
        `SELECT DISTINCT row_key FROM row_history
         WHERE of_table = $2 AND ${keys} AND checkpoint IS NULL AND ${blankable} LIMIT ${atOnce}`,
        [customer, table],
      )
      for (const chunk of chunked(found)) {
        versions += await tx.run(
          `UPDATE row_history SET content = '${erasedContent}'
           WHERE of_table = $1 AND row_key IN (${list(chunk.length, 1)}) AND checkpoint IS NULL AND ${blankable}`,
          [table, ...chunk.map((each) => each.row_key)],
        )
      }
      rows.push(found.length)
    }
    return { rows, versions }
  })

/** The checkpoints that cover versions of the customer which can be blanked. */
async function findCovering(deps: ErasureDeps, traces: readonly PlainTrace[], customer: string): Promise<number[]> {
  const found = new Set<number>()
  for (const { table, keys } of traces) {
    const rows = await deps.db.all<{ checkpoint: bigint }>(
      `SELECT DISTINCT checkpoint FROM row_history
       WHERE of_table = $2 AND ${keys} AND checkpoint IS NOT NULL AND ${blankable}`,
      [customer, table],
    )
    for (const row of rows) found.add(Number(row.checkpoint))
  }
  return [...found].toSorted((a, b) => a - b)
}

/** Blanks a customer's versions under one checkpoint, in one transaction: that digests its versions twice. */
const eraseUnder = (deps: ErasureDeps, traces: readonly PlainTrace[], of: Where): Promise<number> =>
  deps.db.transactLong((tx) =>
    amend(deps, tx, of, async () => {
      let erased = 0
      for (const { table, keys } of traces) {
        erased += await tx.run(
          `UPDATE row_history SET content = '${erasedContent}'
           WHERE of_table = $2 AND ${keys} AND checkpoint = $3 AND ${blankable}`,
          [of.customer, table, of.checkpoint],
        )
      }
      return erased
    }),
  )

/** Renames keys with all versions in one transaction. Each checkpoint is amended once: that digests it twice. */
async function renameKeys(
  deps: ErasureDeps,
  keys: readonly Key[],
  of: Omit<Where, 'checkpoint'>,
  newName: () => string,
) {
  const names = new Map(keys.map((each) => [nameOf(each), `${each.row_key.split(' ')[0]} erased ${newName()}`]))
  return deps.db.transactLong(async (tx) => {
    const change = async (checkpoint: number, versions: readonly KeptVersion[]): Promise<number> => {
      for (const each of new Map(versions.map((version) => [nameOf(version), version])).values()) {
        await tx.run(
          `UPDATE row_history SET row_key = $3,
             content = CASE WHEN content IS NULL THEN NULL ELSE '${erasedContent}' END
           WHERE of_table = $1 AND row_key = $2 AND COALESCE(checkpoint, 0) = $4`,
          [each.of_table, each.row_key, names.get(nameOf(each)) ?? '', checkpoint],
        )
      }
      return versions.filter((each) => each.tells === 1n).length
    }
    let erased = 0
    const covered = Map.groupBy(await lockVersions(tx, keys), (each) => Number(each.checkpoint ?? 0n))
    for (const [checkpoint, versions] of [...covered].toSorted(([a], [b]) => a - b)) {
      const work = () => change(checkpoint, versions)
      erased += checkpoint === 0 ? await work() : await amend(deps, tx, { checkpoint, ...of }, work)
    }
    return erased
  })
}

/** Keys that still identify the customer. One query per beginning, so that each uses the index. */
async function findKeys(
  deps: ErasureDeps,
  { table, beginnings, except }: PersonalTrace,
  customer: string,
): Promise<FoundKey[]> {
  const found: FoundKey[] = []
  for (const { beginning } of await deps.db.all<{ beginning: string }>(beginnings, [customer])) {
    const rows = await deps.db.all<FoundKey>(
      `SELECT of_table, row_key, MIN(COALESCE(checkpoint, 0)) AS first FROM row_history
       WHERE of_table = $2 AND row_key > $3 AND row_key < $4 AND row_key NOT IN (${except})
         AND row_key NOT LIKE '% erased %'
       GROUP BY of_table, row_key`,
      [beginning, table, `${beginning} `, `${beginning}!`],
    )
    found.push(...rows)
  }
  return found
}

async function eraseKeys(
  deps: ErasureDeps,
  traces: readonly PersonalTrace[],
  of: Omit<Where, 'checkpoint'>,
  newName: () => string,
) {
  const found: FoundKey[] = []
  for (const trace of traces) found.push(...(await findKeys(deps, trace, of.customer)))
  let erased = 0
  for (const keys of inBatches(found)) erased += await renameKeys(deps, keys, of, newName)
  return erased
}

/** Returns how many versions were blanked. */
async function erase(
  deps: ErasureDeps,
  traces: readonly Trace[],
  customer: string,
  nowMs: number,
  newName: () => string,
): Promise<number> {
  const plain = traces.filter((each) => 'keys' in each)
  const personal = traces.filter((each) => 'beginnings' in each)
  let erased = 0
  for (let isLeft = true; isLeft; ) {
    const { rows, versions } = await eraseUnstamped(deps, plain, customer)
    erased += versions
    isLeft = rows.includes(atOnce)
  }
  for (const checkpoint of await findCovering(deps, plain, customer)) {
    erased += await eraseUnder(deps, plain, { checkpoint, customer, nowMs })
  }
  return erased + (await eraseKeys(deps, personal, { customer, nowMs }, newName))
}

type Where = { readonly checkpoint: number; readonly customer: string; readonly nowMs: number }

type Key = { readonly of_table: string; readonly row_key: string }
type FoundKey = Key & { readonly first: bigint }
type KeptVersion = Key & { readonly checkpoint: bigint | null; readonly tells: bigint }

const nameOf = ({ of_table, row_key }: Key): string => `${of_table}\n${row_key}`

/** Batches of keys under the same checkpoints, so that each checkpoint is amended seldom. */
function* inBatches(found: readonly FoundKey[]): Generator<FoundKey[]> {
  const byFirst = [...Map.groupBy(found, (each) => each.first)].toSorted(([a], [b]) => Number(a - b))
  for (let at = 0; at < byFirst.length; at += checkpointsAtOnce) {
    const keys = byFirst.slice(at, at + checkpointsAtOnce).flatMap(([, each]) => each)
    for (let from = 0; from < keys.length; from += atOnce) yield keys.slice(from, from + atOnce)
  }
}

/** Locked, so that no checkpoint stamps some of them meanwhile. */
async function lockVersions(tx: Tx, keys: readonly Key[]): Promise<KeptVersion[]> {
  const found: KeptVersion[] = []
  for (const [table, ofTable] of Map.groupBy(keys, (each) => each.of_table)) {
    for (const chunk of chunked(ofTable)) {
      const rows = await tx.all<KeptVersion>(
        `SELECT of_table, row_key, checkpoint,
           CAST(CASE WHEN content IS NULL OR content = '${erasedContent}' THEN 0 ELSE 1 END AS BIGINT) AS tells
         FROM row_history WHERE of_table = $1 AND row_key IN (${list(chunk.length, 1)})
         ORDER BY of_table, row_key, version FOR UPDATE`,
        [table, ...chunk.map((each) => each.row_key)],
      )
      found.push(...rows)
    }
  }
  return found
}
