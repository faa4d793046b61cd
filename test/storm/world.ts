import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { type Config, readConfig } from '../../src/app/settings/config.ts'
import { openConfigured, openVault } from '../../src/app/shop/database.ts'
import { createServices, realRuntime, type Services, shopConfigOf } from '../../src/app/shop/services.ts'
import type { CustomerId } from '../../src/core/ids.ts'
import { kopecks } from '../../src/core/money.ts'
import { accepts } from '../harness/accepts.ts'
import type { Engine } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { createDatabase, type Postgres, startPostgres } from '../harness/postgres.ts'
import { shipped } from '../harness/proxies.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { Machine } from './machine.ts'
import { RoleProcess } from './role-process.ts'
import { FaultLog } from './trouble.ts'

/** A customer of the shop with a token and some money. */
export type Account = { readonly customer: CustomerId; readonly token: string; readonly kopecks: bigint }

/** The gateway's connect timeout; short, so that leftover sockets show within a storm. */
export const connectSeconds = 3
/** The gateway's connection limit: low enough for a storm to reach it. */
const gatewayConnections = 600
/** Proxies for a day are due for renewal at once, so that a storm includes renewals. */
const oneDay = 1

/** A real shop and a real gateway on a fresh database, with the operator's actions. */
export class World {
  readonly faults = new FaultLog()
  readonly machine = new Machine()
  readonly shop: RoleProcess
  readonly gateway: RoleProcess
  readonly url: string
  private readonly config: Config

  private constructor(
    readonly engine: Engine,
    readonly folder: string,
    readonly env: Record<string, string>,
    private readonly postgres: Postgres | undefined,
  ) {
    this.url = `http://127.0.0.1:${env['TURNPIKE_PORT']}`
    this.config = readConfig(env)
    this.shop = new RoleProcess('shop', env, join(folder, 'shop.log'), async () => {
      const answer = await fetch(`${this.url}/readyz`).catch(() => undefined)
      return answer?.status === 200
    })
    this.gateway = new RoleProcess('gateway', env, join(folder, 'gateway.log'), () => accepts(this.gatewayPort))
  }

  get gatewayPort(): number {
    return Number(this.env['TURNPIKE_GATEWAY_PORT'])
  }

  static async open(engine: Engine): Promise<World> {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-storm-'))
    // A durable server for this storm alone: it will be crashed.
    const postgres = engine === 'postgres' ? await startPostgres({ durable: true, own: true }) : undefined
    const database = postgres && (await createDatabase(postgres.url))
    const env = {
      TURNPIKE_DATA: folder,
      TURNPIKE_PORT: String(freePort()),
      TURNPIKE_GATEWAY_PORT: String(freePort()),
      TURNPIKE_LOCAL_NODES: 'gateway',
      // One attacker creates a new one for each attempt.
      TURNPIKE_CUSTOMER_TOKENS: '100000',
      TURNPIKE_GATEWAY_CONNECT: String(connectSeconds),
      TURNPIKE_GATEWAY_CONNECTIONS: String(gatewayConnections),
      TURNPIKE_VPN_POOL: '10.66.0.0/18',
      TURNPIKE_LOG: 'warn',
      ...(database && { TURNPIKE_DATABASE_URL: database.url }),
    }
    const world = new World(engine, folder, env, postgres)
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
    try {
      await world.shop.start()
      await world.sellByTheDay()
      await world.gateway.start()
      return world
    } catch (error) {
      await world.close()
      throw error
    }
  }

  /** All domains on the live database, for one action of the operator. */
  async operate<Result>(work: (services: Services) => Promise<Result>): Promise<Result> {
    const db = openConfigured(this.config)
    try {
      return await work(
        createServices(db, realRuntime, shopConfigOf(this.config, (await openVault(this.config, db)).vault)),
      )
    } finally {
      await db.close()
    }
  }

  /** A new customer with so many roubles. */
  addAccount(name: string, roubles: bigint): Promise<Account> {
    return this.operate(async ({ customers, ledger, db }) => {
      const { id } = await customers.create(name)
      const amount = roubles * 100n
      if (amount > 0n) await db.transact((tx) => ledger.credit(tx, id, kopecks(amount), 'operator', 'a storm'))
      const { text } = await customers.issueToken(id, { name: 'storm' })
      return { customer: id, token: text, kopecks: amount }
    })
  }

  /**
   * Breaks every connection of the database and makes it recover from its WAL, as after a crash of one of its
   * processes.
   */
  async crashDatabase(): Promise<void> {
    const address = this.env['TURNPIKE_DATABASE_URL']
    if (address === undefined) return
    const sql = new SQL(address, { max: 1 })
    try {
      const [row] = (await sql.unsafe('SELECT pg_backend_pid() AS pid')) as { pid: number }[]
      if (row) process.kill(row.pid, 'SIGKILL')
    } finally {
      await sql.close().catch(() => undefined)
    }
    if (!(await untilTrue(() => this.answersFromDatabase(address)))) throw new Error('the database did not come back')
  }

  /** Starts every process that is down. */
  async startAll(): Promise<void> {
    for (const role of [this.shop, this.gateway]) {
      if (!role.isGone) continue
      await this.faults.during(`${role.role} started again`, () => role.start())
    }
  }

  async close(): Promise<void> {
    this.machine.stop()
    await this.gateway.stop()
    await this.shop.stop()
    await this.postgres?.stop()
    rmSync(this.folder, { recursive: true, force: true })
  }

  private async answersFromDatabase(address: string): Promise<boolean> {
    const sql = new SQL(address, { max: 1 })
    try {
      await sql.unsafe('SELECT 1')
      return true
    } catch {
      // It is still recovering.
      return false
    } finally {
      await sql.close().catch(() => undefined)
    }
  }

  private async sellByTheDay(): Promise<void> {
    const list = shipped()
    for (const kind of Object.values(list.dedicated.kinds)) kind.periods = [oneDay, ...kind.periods]
    await this.operate(({ db, pricing }) => db.transact((tx) => pricing.apply(tx, list)))
  }
}
