import type { Reader } from './transaction.ts'

/** A server that receives the log of changes. The state is null if the shop's role may not see it. */
type Standby = {
  readonly name: string
  /** `sync` and `quorum` count for a commit, `potential` may take their place, `async` does not count. */
  readonly state: 'sync' | 'quorum' | 'potential' | 'async' | null
  /** Bytes of the log that it has not on its disk. */
  readonly lagBytes: number | null
}

/** Keeps the log of changes for a standby or an archive. One that no client reads fills the disk. */
type ReplicationSlot = { readonly name: string; readonly isRead: boolean; readonly keptBytes: number }

export type Replication = {
  /** Whether a commit waits for a standby. */
  readonly isSynchronous: boolean
  readonly standbys: readonly Standby[]
  readonly slots: readonly ReplicationSlot[]
  /** Commits of all shops that wait for a standby now. */
  readonly waitingCommits: number
}

type StandbyRow = { readonly name: string; readonly state: Standby['state']; readonly lag: bigint | null }
type SlotRow = { readonly name: string; readonly is_read: boolean; readonly kept: bigint | null }

/**
 * The replication of the PostgreSQL server that answers. A role sees the names of all standbys, and their states only
 * with the rights of `pg_monitor`.
 */
export async function readReplication(reader: Reader): Promise<Replication> {
  const [row, standbys, slots] = await Promise.all([
    reader.first<{ names: string; commits: string; waiting: bigint }>(
      `SELECT current_setting('synchronous_standby_names') AS names, current_setting('synchronous_commit') AS commits,
         (SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep') AS waiting`,
    ),
    reader.all<StandbyRow>(
      `SELECT COALESCE(application_name, '') AS name, sync_state AS state,
         CAST(pg_wal_lsn_diff(${position}, flush_lsn) AS BIGINT) AS lag
       FROM pg_stat_replication ORDER BY application_name, pid LIMIT ${maxListed}`,
    ),
    reader.all<SlotRow>(
      `SELECT CAST(slot_name AS text) AS name, active AS is_read,
         CAST(pg_wal_lsn_diff(${position}, restart_lsn) AS BIGINT) AS kept
       FROM pg_replication_slots ORDER BY slot_name LIMIT ${maxListed}`,
    ),
  ])
  return {
    isSynchronous: row?.names !== '' && !['off', 'local'].includes(row?.commits ?? ''),
    standbys: standbys.map(({ name, state, lag }) => ({
      name,
      state,
      lagBytes: lag === null ? null : Math.max(0, Number(lag)),
    })),
    slots: slots.map(({ name, is_read: isRead, kept }) => ({
      name,
      isRead,
      keptBytes: Math.max(0, Number(kept ?? 0n)),
    })),
    waitingCommits: Number(row?.waiting ?? 0n),
  }
}

const maxListed = 50
/** A server that is a standby itself has no end of the log, only what it has received. */
const position = 'CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_flush_lsn() END'
