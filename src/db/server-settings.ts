import type { Database } from './transaction.ts'

export type PostgresSettings = Extract<Awaited<ReturnType<typeof readServerSettings>>, { engine: 'postgres' }>

/** Settings of the database that a shop depends on. */
export async function readServerSettings(db: Database) {
  if (db.engine === 'sqlite') {
    const journal = await db.first<{ journal_mode: string }>('PRAGMA journal_mode')
    const pages = await db.first<{ page_count: bigint }>('PRAGMA page_count')
    const size = await db.first<{ page_size: bigint }>('PRAGMA page_size')
    return {
      engine: 'sqlite' as const,
      journal: journal?.journal_mode ?? '',
      bytes: Number((pages?.page_count ?? 0n) * (size?.page_size ?? 0n)),
    }
  }
  const row = await db.first<
    Record<'version' | 'encoding' | 'fsync' | 'pages' | 'commits' | 'connections' | 'at' | 'tls' | 'local', string>
  >(
    `SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding,
       current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages,
       (SELECT CAST(ssl AS text) FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS tls,
       CAST(COALESCE(inet_client_addr() <<= '127.0.0.0/8' OR inet_client_addr() = '::1', TRUE) AS text) AS local,
       current_setting('synchronous_commit') AS commits, current_setting('max_connections') AS connections,
       CAST(CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS text) AS at`,
  )
  return {
    engine: 'postgres' as const,
    /** 150004 is 15.4. */
    version: Number(row?.version ?? 0),
    encoding: row?.encoding ?? '',
    fsync: row?.fsync === 'on',
    fullPages: row?.pages === 'on',
    waitsForDisk: row?.commits !== 'off',
    connections: Number(row?.connections ?? 0),
    /** Whether the connection comes over a network without TLS. */
    isReadable: row?.tls !== 'true' && row?.local !== 'true',
    nowMs: Number(row?.at ?? 0),
  }
}
