import { renameSync, rmSync } from 'node:fs'
import { openDatabase } from '../../src/db/open.ts'
import { shippedLimits } from '../../src/db/pool.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import type { Database, Reader } from '../../src/db/transaction.ts'
import { openReader } from './invariants.ts'
import type { Process } from './process.ts'
import { type Pace, stepDatabase } from './stepped-database.ts'
import { SteppedPostgres } from './stepped-postgres.ts'
import type { World } from './world.ts'

/** The database of a simulation. It outlives the shop's processes, and each has its own steps on it. */
export type Store = {
  /** Committed rows, beside the shops. */
  readonly reader: Reader
  /** Of a server; undefined for a file. */
  readonly url: string | undefined
  open(process: Process, connections?: number): Database
  /** Settles after the transactions that a crash has rolled back. */
  ended(): Promise<unknown>
  /** A full disk of a file; a server instead ends all connections. */
  setFault(isOn: boolean): void
  copy(): Promise<void>
  /** Goes back to the copy. On a file, while no shop runs. */
  goBack(): Promise<void>
  close(): Promise<void>
}

const maxPages = 1_073_741_823
const copyOf = (path: string): string => `${path}.copy`

export const openStore = (address: string, world: World, pace: Pace): Store =>
  address.startsWith('postgres') ? openServer(address, world, pace) : openFile(address, world, pace)

function openFile(path: string, world: World, pace: Pace): Store {
  let db = openDatabase(path)
  let reader = openReader(path)
  let isDiskFull = false
  const close = async (): Promise<void> => {
    await db.close()
    reader.close()
  }
  return {
    reader: { all: (sql, values) => reader.all(sql, values), first: (sql, values) => reader.first(sql, values) },
    url: undefined,
    open: (process) => stepDatabase(db, process, pace),
    ended: () => db.transact(async () => {}),
    setFault(isFull) {
      if (isFull === isDiskFull) return
      isDiskFull = isFull
      world.note(isFull ? 'the disk is full' : 'the disk has space again')
      // SQLite refuses more pages with SQLITE_FULL. It waits for the transaction that runs, which waits for the world.
      void db.transact((tx) => tx.all(`PRAGMA max_page_count = ${isFull ? 1 : maxPages}`))
    },
    copy: async () => reader.copyTo(copyOf(path)),
    async goBack() {
      await close()
      for (const each of [path, `${path}-wal`, `${path}-shm`]) rmSync(each, { force: true })
      renameSync(copyOf(path), path)
      db = openDatabase(path)
      reader = openReader(path)
      isDiskFull = false
    },
    close,
  }
}

/** The server's timeouts are in real time, which a simulation does not have. */
const limits = { ...shippedLimits, lockWaitMs: 300_000, statementMs: 310_000 }

function openServer(url: string, world: World, pace: Pace): Store {
  let reader = openPostgres(url, 1)
  const server = new SteppedPostgres(world, url, pace)
  /** Work on a database without connections. */
  const alone = async (work: () => Promise<void>): Promise<void> => {
    await reader.close()
    server.cutAll()
    await server.ended()
    await work()
    reader = openPostgres(url, 1)
  }
  return {
    reader: { all: (sql, values) => reader.all(sql, values), first: (sql, values) => reader.first(sql, values) },
    url,
    open: (process, connections) => openPostgres(url, connections, limits, undefined, server.connectOf(process)),
    ended: async () => {},
    setFault(isOn) {
      if (!isOn) return
      world.note('the server ends all connections')
      server.cutAll()
    },
    copy: () => alone(() => server.copy()),
    goBack: () => alone(() => server.goBack()),
    async close() {
      await server.close()
      await reader.close()
    },
  }
}
