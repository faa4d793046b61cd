import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { SQL } from 'bun'
import { createVault } from '../src/adapters/crypto.ts'
import { readMigrations } from '../src/app/shop/database.ts'
import { createServices, realRuntime, type Services } from '../src/app/shop/services.ts'
import { migrate } from '../src/db/migrate.ts'
import { openDatabase } from '../src/db/open.ts'
import { createDatabase, type Postgres, startPostgres } from '../test/harness/postgres.ts'
import { addStockGateway } from '../test/harness/stock-gateway.ts'
import { type ShopProcess, startShop } from './shop-process.ts'

export type Engine = 'sqlite' | 'postgres'
export const engines: readonly Engine[] = ['sqlite', 'postgres']
export const engineName: Readonly<Record<Engine, string>> = { sqlite: 'SQLite', postgres: 'PostgreSQL' }

/** A database, and its folder. */
export type BenchDatabase = { readonly engine: Engine; readonly address: string; readonly folder: string }

/** The key that encrypts passwords, in this process and in the shops that it starts. */
const secretKey = '00'.repeat(32)

type Undo = () => Promise<void> | void

/** The environment of the benches: servers, databases and shops, each started on first use and stopped at the end. */
export type Stage = ReturnType<typeof createStage>

export function createStage(say: (text: string) => void) {
  /** Cleanup actions of one bench, and of all benches. */
  const own: Undo[] = []
  const shared: Undo[] = []
  const prepared = new Map<string, Promise<BenchDatabase>>()
  let server: Promise<Postgres> | undefined

  function makeFolder(undo = own): string {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'))
    undo.push(() => rmSync(folder, { recursive: true, force: true }))
    return folder
  }

  /** With the server's default durability, because commits that do not wait for the disk are not comparable. */
  async function startServer(): Promise<Postgres> {
    say('starting PostgreSQL')
    // A kept database is on a server that outlives the run.
    if (process.env['TURNPIKE_TEST_POSTGRES_URL']) return startPostgres({ durable: true })
    const started = await startPostgres({ durable: true, source: 'system' }).catch(() =>
      startPostgres({ durable: true, source: 'embedded' }),
    )
    shared.push(() => started.stop())
    return started
  }

  async function postgresUrl(): Promise<string> {
    server ??= startServer()
    return (await server).url
  }

  /** An empty database, or a copy of one without connections. */
  async function makeDatabase(engine: Engine, copyOf?: BenchDatabase, undo = own): Promise<BenchDatabase> {
    const folder = makeFolder(undo)
    if (copyOf) cpSync(copyOf.folder, folder, { recursive: true })
    if (engine === 'sqlite') return { engine, address: join(folder, 'turnpike.db'), folder }
    const database = await createDatabase(await postgresUrl(), copyOf?.address)
    undo.push(() => database.drop())
    return { engine, address: database.url, folder }
  }

  return {
    postgresUrl,
    makeFolder: () => makeFolder(),
    makeDatabase: (engine: Engine) => makeDatabase(engine),

    /** A database that stays after the run, in a folder and, for PostgreSQL, on a server that outlives the run. */
    async keepDatabase(engine: Engine, folder: string): Promise<BenchDatabase> {
      mkdirSync(folder, { recursive: true })
      if (engine === 'sqlite') return { engine, address: join(folder, 'turnpike.db'), folder }
      const address = new URL(await postgresUrl())
      address.pathname = `/${basename(folder)}`
      await runSql(await postgresUrl(), [`CREATE DATABASE ${basename(folder)}`]).catch((error: unknown) => {
        if (!String(error).includes('already exists')) throw error
      })
      return { engine, address: address.href, folder }
    },

    /** A copy of a database that is filled once per run, because filling takes longer than measuring. */
    async makePrepared(
      engine: Engine,
      name: string,
      fill: (services: Services) => Promise<void>,
    ): Promise<BenchDatabase> {
      const key = `${engine} ${name}`
      const fillOnce = async (): Promise<BenchDatabase> => {
        const database = await makeDatabase(engine, undefined, shared)
        await withServices(database, fill)
        if (engine === 'postgres') await settle(database.address)
        return database
      }
      const base = prepared.get(key) ?? fillOnce()
      prepared.set(key, base)
      return makeDatabase(engine, await base)
    },

    async startShop(database: BenchDatabase, env: Record<string, string> = {}): Promise<ShopProcess> {
      const shop = await startShop(['shop'], {
        TURNPIKE_DATA: database.folder,
        TURNPIKE_SECRET_KEY: secretKey,
        ...(database.engine === 'postgres' && { TURNPIKE_DATABASE_URL: database.address }),
        ...env,
      })
      own.push(() => shop.stop())
      return shop
    },

    /** Registers a cleanup action of a bench. */
    atEnd: (action: Undo): void => void own.push(action),

    /** Runs the cleanup of one bench in reverse order, so that the next does not run beside it. */
    clear: () => undoAll(own),

    /** Runs all cleanup. */
    async end(): Promise<void> {
      await undoAll(own)
      await undoAll(shared)
    },
  }
}

async function undoAll(actions: Undo[]): Promise<void> {
  for (let action = actions.pop(); action; action = actions.pop()) await action()
}

/** All domains on one database, without HTTP. */
export async function openServices(database: BenchDatabase): Promise<Services> {
  const db = openDatabase(database.address)
  await migrate(db, readMigrations())
  const config = {
    vault: createVault(Uint8Array.fromHex(secretKey)),
    gateway: { host: '127.0.0.1', port: 10_800 },
  }
  return addStockGateway(createServices(db, realRuntime, config))
}

export async function withServices<Result>(
  database: BenchDatabase,
  work: (services: Services) => Promise<Result>,
): Promise<Result> {
  const services = await openServices(database)
  try {
    return await work(services)
  } finally {
    await services.db.close()
  }
}

/** Runs statements one after another over their own connection. */
export async function runSql(url: string, statements: readonly string[]): Promise<void> {
  const sql = new SQL(url, { max: 1 })
  try {
    for (const statement of statements) await sql.unsafe(statement)
  } finally {
    await sql.close()
  }
}

/** The work of autovacuum after a large import, done before measuring. */
const settle = (url: string): Promise<void> =>
  runSql(url, ['VACUUM ANALYZE customers, accounts, postings, stock', 'CHECKPOINT'])
