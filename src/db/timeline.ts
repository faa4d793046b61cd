import type { RandomBytes } from '../core/ids.ts'
import type { Clock } from '../core/time.ts'
import type { Vault } from '../core/vault.ts'
import { noteLife } from './counter.ts'
import { type Database, type Reader, type Tx, unavailable } from './transaction.ts'

/**
 * A moment in the history of a database. `number` is the order of the commits; `madeAt` is shown and decides nothing.
 * `ids` is the largest counter then.
 */
type Mark = Readonly<Record<'life' | 'number' | 'madeAt' | 'ids', number>> & { readonly nonce: string }

/**
 * `lost`: the database had this mark and has it no longer, so it went back in time. `former`: it is from before a
 * restore or a rewind that was noted. `expired`: marks before it and itself are deleted. `none`: no mark of this shop.
 */
type Verdict = 'known' | 'lost' | 'former' | 'expired' | 'none'

/** A database that went back: to its newest mark, from the mark that was missing. */
export type Rewind = { readonly life: number; readonly backTo: number; readonly lostUntil: number }

/**
 * A mark is kept for this many calls of `forget`, which are a minute apart. A node that was away for longer takes its
 * whole state again. The calls are counted, because clocks jump.
 */
export const keptCalls = 60
/** Shops that restart before their 60th call keep no more. */
const maxMarks = 1_000_000
const nonceBytes = 9
const maxTokenLength = 400
/** The context that a mark is sealed for, so that no other sealed text is one. */
const context = 'mark of the history'

type TimelineDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly random: RandomBytes
  readonly vault: Vault
  /** Whether the schema is complete. A restore that is under way makes its triggers at its end. */
  readonly isWhole?: (reader: Reader) => Promise<boolean>
  /** Repairs what depends on the lost part of the history, in the transaction that notes the rewind. */
  readonly onRewind?: (tx: Tx) => Promise<void>
}

const rewindColumns = 'life, noted_at, back_to, lost_until'
const lifeSql = `COALESCE((SELECT next FROM counters WHERE name = 'restored'), 0) AS life`
const countMark = (first: number): string =>
  `(SELECT COUNT(*) FROM history_marks WHERE made_at = $${first} AND nonce = $${first + 1})`
const newestSql = 'SELECT number, made_at, nonce, ids FROM history_marks ORDER BY number DESC, nonce DESC LIMIT 1'

type NewestRow = Readonly<Record<'number' | 'made_at' | 'ids', bigint>> & { readonly nonce: string }
type LookRow = Readonly<Record<'life' | 'own' | 'shown' | 'this_table', bigint>> & {
  readonly oldest: bigint | null
} & {
  readonly [Name in keyof NewestRow]: NewestRow[Name] | null
}

/**
 * Notices a database that went back in time: a failover to a replica that lags, a restored dump, a replaced file. What
 * this process read last, and what each node has, is a sealed mark that was committed after it. A mark that is missing
 * proves that rows are missing, too. Nodes keep the marks, because they outlive every shop.
 */
export class Timeline {
  /** The life of the database and its newest mark, as this process read them last; undefined before the first look. */
  private seen: { readonly life: number; readonly newest: Mark | undefined; readonly table: bigint } | undefined
  private readonly tableSql
  private readonly listeners = new Set<(rewind: Rewind | undefined) => void>()
  private keep: (token: string) => void = () => {}
  private running: Promise<unknown> = Promise.resolve()
  private next: Promise<string> | undefined
  private isUnmarked = false
  /** The newest marks at the last calls of `forget`, the oldest first. */
  private newestAtCalls: Mark[] = []

  constructor(private readonly deps: TimelineDeps) {
    // A restore in place makes the table again, and then it has another identity.
    this.tableSql = deps.db.engine === 'postgres' ? `CAST(CAST('history_marks' AS regclass) AS oid)::bigint` : '0'
  }

  /** The life that this process knows: a new number after every restore and every rewind, 0 before the first. */
  readonly life = (): number => this.seen?.life ?? 0

  /**
   * Compares a mark that a node or a file kept, and the newest one that this process knows, with the database. A lost
   * mark is noted as a rewind before this returns. `newest` is a mark that is at least as new as a known one. Refuses
   * with `database_unavailable` while a restore is under way.
   */
  async look(token?: string): Promise<{ readonly verdict: Verdict; readonly newest: string | undefined }> {
    const [own, shown] = [this.seen?.newest, this.read(token)]
    const found = await this.compare(this.deps.db, own, shown)
    if (found.table !== this.seen?.table) await this.assertWhole(this.deps.db)
    const lost = found.own === 'lost' ? own : found.shown === 'lost' ? shown : undefined
    if (lost) await this.noteRewind(lost)
    else this.remember(found)
    const newest = lost ? this.seen?.newest : found.newest
    return { verdict: found.shown, newest: newest && this.write(newest) }
  }

  /** Whether two texts are the same mark: sealing one twice gives two texts. */
  isSame(one: string | undefined, other: string | undefined): boolean {
    const [a, b] = [this.read(one), this.read(other)]
    return a !== undefined && a.life === b?.life && a.nonce === b.nonce
  }

  /** A mark that is committed after all that is visible at the call. Concurrent callers share one. */
  cover(): Promise<string> {
    this.next ??= this.running
      .catch(() => {})
      .then(() => {
        this.next = undefined
        const mark = this.appendNow()
        this.running = mark
        return mark
      })
    return this.next
  }

  /** A change that no node reads, such as a credit or a revocation, was committed and has no mark after it yet. */
  noteChange(): void {
    this.isUnmarked = true
  }

  /** Writes a mark after changes that no node reads: once for all since the last call, because a sale writes none. */
  async markChanges(): Promise<void> {
    if (!this.isUnmarked) return
    this.isUnmarked = false
    try {
      await this.cover()
    } catch (error) {
      this.isUnmarked = true
      throw error
    }
  }

  /** Refuses a sale in another database than this process knows: its ids and its stock are of that one. */
  async guard(tx: Tx): Promise<void> {
    if (!this.seen) return
    const { life, newest, table } = this.seen
    const row = await tx.first<Record<'life' | 'own' | 'this_table', bigint>>(
      `SELECT ${lifeSql}, ${countMark(1)} AS own, ${this.tableSql} AS this_table`,
      [newest?.madeAt ?? 0, newest?.nonce ?? ''],
    )
    if (Number(row?.life) === life && row?.this_table === table && (!newest || row.own === 1n)) return
    void this.look().catch(() => {})
    throw unavailable('changed', undefined)
  }

  /** Called after the life has changed; with the rewind if this process has noted it. */
  onChange(listener: (rewind: Rewind | undefined) => void): void {
    this.listeners.add(listener)
  }

  /** Called with each mark of this process before a node gets it. */
  onMark(listener: (token: string) => void): void {
    this.keep = listener
  }

  /** Deletes marks that are too old to be compared, and never the newest one. */
  async forget(): Promise<number> {
    const newest = this.seen?.newest
    if (!newest) return 0
    if (this.newestAtCalls[0]?.life !== newest.life) this.newestAtCalls = []
    this.newestAtCalls.push(newest)
    const old = this.newestAtCalls.length > keptCalls ? this.newestAtCalls.shift() : undefined
    const upTo = Math.max(old?.number ?? 0, newest.number - maxMarks)
    return this.deps.db.transact(async (tx) => {
      await this.guard(tx)
      return tx.run('DELETE FROM history_marks WHERE number < $1', [upTo])
    })
  }

  /** How far the clock of the newest mark was ahead of this process's clock; at most 0 where both are right. */
  readonly markAheadMs = (): number => (this.seen?.newest?.madeAt ?? 0) - this.deps.clock()

  private write(mark: Mark): string {
    const text = [mark.life, mark.number, mark.madeAt, mark.nonce, mark.ids].join(' ')
    return this.deps.vault.seal(text, context).toBase64({ alphabet: 'base64url', omitPadding: true })
  }

  /** Undefined for a text that this shop has not sealed. */
  private read(token: string | undefined): Mark | undefined {
    if (token === undefined || token.length > maxTokenLength) return undefined
    try {
      const sealed = Uint8Array.fromBase64(token, { alphabet: 'base64url' })
      const [life, number, madeAt, nonce = '', ids = ''] = this.deps.vault.open(sealed, context).split(' ')
      // A mark of a version that did not number them.
      if (ids === '') return { life: Number(life), number: 0, madeAt: Number(number), nonce: madeAt ?? '', ids: 0 }
      return { life: Number(life), number: Number(number), madeAt: Number(madeAt), nonce, ids: Number(ids) }
    } catch {
      return undefined
    }
  }

  /** The life and the newest mark of a database, and what it says about two marks, in one statement. */
  private async compare(reader: Reader, own: Mark | undefined, shown: Mark | undefined) {
    const row = await reader.first<LookRow>(
      `SELECT ${lifeSql}, ${countMark(1)} AS own, ${countMark(3)} AS shown, ${this.tableSql} AS this_table,
         (SELECT MIN(number) FROM history_marks) AS oldest, newest.number, newest.made_at, newest.nonce, newest.ids
       FROM (SELECT 1 AS one) AS always LEFT JOIN (${newestSql}) AS newest ON true`,
      [own?.madeAt ?? 0, own?.nonce ?? '', shown?.madeAt ?? 0, shown?.nonce ?? ''],
    )
    const life = Number(row?.life ?? 0n)
    const { number, made_at: madeAt, nonce = null, ids } = row ?? {}
    const newest =
      nonce === null ? undefined : { life, number: Number(number), madeAt: Number(madeAt), nonce, ids: Number(ids) }
    const judge = (mark: Mark | undefined, isThere: boolean): Verdict => {
      if (!mark) return 'none'
      if (mark.life !== life) return mark.life > life ? 'lost' : 'former'
      if (isThere) return 'known'
      // Marks are deleted from the oldest on, so a missing one beyond the oldest was lost. 0 was never numbered.
      return mark.number > 0 && mark.number >= Number(row?.oldest ?? 0n) ? 'lost' : 'expired'
    }
    return {
      life,
      newest,
      table: row?.this_table ?? 0n,
      own: judge(own, row?.own === 1n),
      shown: judge(shown, row?.shown === 1n),
    }
  }

  private remember(seen: NonNullable<Timeline['seen']>, rewind?: Rewind): void {
    const before = this.seen
    this.seen = seen
    if (rewind || (before && before.life !== seen.life)) for (const listen of this.listeners) listen(rewind)
  }

  /** Rows that are written before the triggers exist have no history. */
  private async assertWhole(reader: Reader): Promise<void> {
    if (this.deps.isWhole && !(await this.deps.isWhole(reader))) throw unavailable('changed', undefined)
  }

  /** In one transaction, once for one event: other shops and nodes that notice it find their marks `former`. */
  private async noteRewind(evidence: Mark): Promise<void> {
    const noted = await this.deps.db.transact(async (tx) => {
      await this.assertWhole(tx)
      const life = await lockLife(tx)
      const { newest, shown, table } = await this.compare(tx, undefined, evidence)
      if (shown !== 'lost') return { seen: { life, newest, table }, rewind: undefined }
      const nowMs = this.deps.clock()
      const next = Math.max(life + 1, evidence.life + 1, nowMs)
      const rewind = { life: next, backTo: newest?.madeAt ?? 0, lostUntil: evidence.madeAt }
      await noteLife(tx, next, evidence.ids)
      const sql = `INSERT INTO rewinds (${rewindColumns}) VALUES ($1, $2, $3, $4)`
      await tx.run(sql, [next, nowMs, rewind.backTo, rewind.lostUntil])
      await this.deps.onRewind?.(tx)
      return { seen: { life: next, newest: await this.append(tx, evidence.number), table }, rewind }
    })
    this.remember(noted.seen, noted.rewind)
  }

  /** Numbers a mark beyond all marks and `lost`. The life is locked: the order of numbers is the order of commits. */
  private async append(tx: Tx, lost = 0): Promise<Mark> {
    const [madeAt, nonce] = [this.deps.clock(), this.deps.random(nonceBytes).toHex()]
    const row = await tx.first<Record<'life' | 'number' | 'ids', bigint>>(
      `INSERT INTO history_marks (made_at, nonce, ids, number)
       SELECT $1, $2, (SELECT COALESCE(MAX(next), 0) FROM counters WHERE name <> 'restored'),
         1 + CASE WHEN newest > $3 THEN newest ELSE $3 END
       FROM (SELECT COALESCE(MAX(number), 0) AS newest FROM history_marks) AS marks
       RETURNING number, ids, ${lifeSql}`,
      [madeAt, nonce, lost],
    )
    return { life: Number(row?.life), number: Number(row?.number), madeAt, nonce, ids: Number(row?.ids) }
  }

  private async appendNow(): Promise<string> {
    const mark = await this.deps.db.transact(async (tx) => {
      await lockLife(tx)
      // A mark in a database that went back would replace the one that shows it.
      await this.guard(tx)
      return this.append(tx)
    })
    // A rewind that another shop has noted is announced by the next look.
    if (this.seen?.life === mark.life) this.seen = { ...this.seen, newest: mark }
    const token = this.write(mark)
    this.keep(token)
    return token
  }
}

/** Locks the number of the life, so that one of two notes about it is first. */
export async function lockLife(tx: Tx): Promise<number> {
  tx.send(`INSERT INTO counters (name, next) VALUES ('restored', 0) ON CONFLICT (name) DO NOTHING`)
  const row = await tx.first<{ next: bigint }>(`SELECT next FROM counters WHERE name = 'restored' FOR UPDATE`)
  return Number(row?.next ?? 0n)
}

/** The latest time of a mark; a clock that is behind it differs from that of another shop, or has jumped. */
export async function findLatestMarkAt(reader: Reader): Promise<number> {
  const row = await reader.first<{ latest: bigint | null }>('SELECT MAX(made_at) AS latest FROM history_marks')
  return Number(row?.latest ?? 0n)
}

/** The rewinds that were noted since a moment, the newest first. */
export async function listRewinds(reader: Reader, sinceAt: number): Promise<(Rewind & { readonly notedAt: number })[]> {
  const rows = await reader.all<Record<'life' | 'noted_at' | 'back_to' | 'lost_until', bigint>>(
    `SELECT ${rewindColumns} FROM rewinds WHERE noted_at >= $1 ORDER BY noted_at DESC LIMIT 100`,
    [sinceAt],
  )
  return rows.map((row) => ({
    life: Number(row.life),
    notedAt: Number(row.noted_at),
    backTo: Number(row.back_to),
    lostUntil: Number(row.lost_until),
  }))
}
