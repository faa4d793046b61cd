import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Config, readConfig } from '../../../src/app/settings/config.ts'
import { openConfigured, openVault } from '../../../src/app/shop/database.ts'
import { createServices, realRuntime, type Services, shopConfigOf } from '../../../src/app/shop/services.ts'
import { readPrefix } from '../../../src/core/address.ts'
import { kopecks } from '../../../src/core/money.ts'
import type { Reader } from '../../../src/db/transaction.ts'
import { accepts } from '../../harness/accepts.ts'
import type { Engine } from '../../harness/database.ts'
import { freePort } from '../../harness/gateway.ts'
import { createDatabase, startPostgres } from '../../harness/postgres.ts'
import { kindIn, shipped } from '../../harness/proxies.ts'
import { runTurnpike, untilTrue } from '../../harness/turnpike.ts'
import { Machine as Load } from '../machine.ts'
import { RoleProcess } from '../role-process.ts'
import { FaultLog } from '../trouble.ts'
import type { Account } from '../world.ts'
import { type Balancer, openBalancer } from './balancer.ts'
import { shopCertificate } from './certificate.ts'
import { FleetNet, type Machine } from './net.ts'

export const gatewayPort = 10_800
const connectSeconds = 3
const startedAtOnce = 4
/** The drain time of a gateway that was taken over. */
const drainSeconds = 60
/** Each machine's exits are in their own country, so that a login can select one machine. */
const countries = 'DE FR NL GB US CA IT ES PL SE NO FI DK AT CH BE CZ PT IE RO'.split(' ')
export const maxGateways = countries.length
/** All dedicated addresses are sold in this country, so that one purchase may use any machine. */
export const soldIn = 'DE'
export const pool = 'residential'

/** The numbers of gateways and shops, and of ranges of eight addresses per gateway. */
export type FleetSize = { readonly gateways: number; readonly shops: number; readonly ranges: number }

/** A PostgreSQL of the storm: for each shop the settings that name it. */
export type FleetDatabase = { readonly envs: readonly Record<string, string>[]; stop(): Promise<void> }

/** Settings beside the usual ones, and a database in place of one server. */
export type FleetExtras = {
  /** Called within the network of the storm. */
  readonly database?: (shops: number) => Promise<FleetDatabase>
  readonly shop?: Readonly<Record<string, string>>
  readonly gateway?: (machine: Machine) => Promise<Readonly<Record<string, string>>>
}

/** Children die with their parent. */
export const leash = ['setpriv', '--pdeathsig', 'KILL']

async function openServer(shops: number): Promise<FleetDatabase> {
  const server = await startPostgres({ durable: true, own: true })
  const { url } = await createDatabase(server.url)
  const envs = Array.from({ length: shops }, () => ({ TURNPIKE_DATABASE_URL: url }))
  return { envs, stop: () => server.stop() }
}

/** A gateway on its own machine. */
export type Gateway = { readonly machine: Machine; readonly country: string; readonly process: RoleProcess }

/** Shops on one database behind a balancer, and gateways on their own machines, with the operator's tool. */
export class FleetWorld {
  readonly faults = new FaultLog()
  readonly machine = new Load()
  readonly gateways: Gateway[] = []
  readonly shops: readonly RoleProcess[]
  private readonly config: Config

  private constructor(
    readonly net: FleetNet,
    readonly balancer: Balancer,
    readonly folder: string,
    /** The environment of the operator's tool. */
    readonly env: Record<string, string>,
    ports: readonly number[],
    private readonly database: FleetDatabase | undefined,
    private readonly extras: FleetExtras,
  ) {
    this.config = readConfig(env)
    this.shops = ports.map((port, at) => {
      const settings = { ...env, ...database?.envs[at], TURNPIKE_PORT: String(port) }
      return new RoleProcess(
        'shop',
        settings,
        join(folder, `shop-${at + 1}.log`),
        async () => {
          const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
          return answer?.status === 200
        },
        leash,
      )
    })
  }

  /** The shop's URL for customers. */
  get url(): string {
    return this.balancer.customersUrl
  }

  static async open(engine: Engine, size: FleetSize, extras: FleetExtras = {}): Promise<FleetWorld> {
    const net = await FleetNet.open(size.gateways, size.ranges)
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-fleet-storm-'))
    // SQLite allows one shop.
    const ports = Array.from({ length: engine === 'postgres' ? size.shops : 1 }, freePort)
    const openDatabase = extras.database ?? openServer
    const database = engine === 'postgres' ? await openDatabase(ports.length) : undefined
    const balancer = openBalancer({
      shops: ports.map((port) => `http://127.0.0.1:${port}`),
      nodeOf: (address) => net.machineOf(address)?.name,
    })
    const env = {
      TURNPIKE_DATA: join(folder, 'shop'),
      TURNPIKE_SANDBOX: 'off',
      TURNPIKE_SECRET_KEY: 'f1'.repeat(32),
      TURNPIKE_TRUSTED_PROXIES: '127.0.0.1',
      TURNPIKE_PUBLIC_URL: balancer.nodesUrl,
      TURNPIKE_GATEWAY_HOST: net.machines[0]?.host ?? '',
      TURNPIKE_GATEWAY_PORT: String(gatewayPort),
      TURNPIKE_RATE_READS: '0',
      TURNPIKE_RATE_CHARGES: '0',
      TURNPIKE_LOG: 'warn',
      ...database?.envs[0],
      ...extras.shop,
    }
    const world = new FleetWorld(net, balancer, folder, env, ports, database, extras)
    process.on('exit', () => world.abandon())
    try {
      await world.startAll()
      return world
    } catch (error) {
      await world.close()
      throw error
    }
  }

  /** Runs the operator's tool; a non-zero exit is an error. */
  async tool(...args: readonly string[]): Promise<unknown> {
    const { exit, out, err } = await runTurnpike([...args, '--json'], this.env)
    if (exit !== 0) throw new Error(`turnpike ${args.join(' ')} ended with ${exit}: ${err || out}`)
    return JSON.parse(out)
  }

  /** All domains on the live database, for one action of the operator. */
  async operate<Result>(work: (services: Services) => Promise<Result>): Promise<Result> {
    const db = openConfigured(this.config)
    try {
      const { vault } = await openVault(this.config, db)
      return await work(createServices(db, realRuntime, shopConfigOf(this.config, vault)))
    } finally {
      await db.close()
    }
  }

  read<Row>(sql: string): Promise<Row[]> {
    return this.operate(({ db }) => db.snapshot((reader: Reader) => reader.all<Row>(sql)))
  }

  addAccount(name: string, roubles: bigint): Promise<Account> {
    return this.operate(async ({ customers, ledger, db }) => {
      const { id } = await customers.create(name)
      const amount = roubles * 100n
      await db.transact((tx) => ledger.credit(tx, id, kopecks(amount), 'operator', 'a storm'))
      const { text } = await customers.issueToken(id, { name: 'storm' })
      return { customer: id, token: text, kopecks: amount }
    })
  }

  /** The sites whose faults may affect an address. */
  faultSitesOf(address: string, range: string): string[] {
    return [address, range, this.net.machineOf(address)?.name ?? '']
  }

  async close(): Promise<void> {
    this.machine.stop()
    await Promise.all(this.gateways.map((each) => each.process.stop()))
    await Promise.all(this.shops.map((each) => each.stop()))
    await this.balancer.stop()
    await this.database?.stop()
    await this.net.close()
    if (process.env['TURNPIKE_STORM_KEEP'] === undefined) rmSync(this.folder, { recursive: true, force: true })
  }

  /** Leaves no process and no namespace behind when this process ends, except by `kill -9`. */
  private abandon(): void {
    this.net.abandon()
    if (process.env['TURNPIKE_STORM_KEEP'] === undefined) rmSync(this.folder, { recursive: true, force: true })
  }

  private async startAll(): Promise<void> {
    mkdirSync(join(this.folder, 'shop'), { recursive: true, mode: 0o700 })
    const [first, ...others] = this.shops
    // One after another: the first migrates the schema.
    await first?.start()
    await Promise.all(others.map((each) => each.start()))
    await this.setPrices()
    writeFileSync(join(this.folder, 'shop.pem'), shopCertificate.cert)
    for (const [at, machine] of this.net.machines.entries()) await this.addGateway(machine, countries[at] ?? soldIn)
    await this.addStock()
    // A few at a time: each proves all its addresses.
    for (let at = 0; at < this.gateways.length; at += startedAtOnce) {
      await Promise.all(this.gateways.slice(at, at + startedAtOnce).map((each) => each.process.start()))
    }
    const isServed = async () => {
      const { items: ranges } = (await this.tool('stock', 'ranges')) as { items: { places: number; served: number }[] }
      return ranges.every((each) => each.served === each.places)
    }
    for (let waits = 0; !(await untilTrue(isServed)); waits += 1) {
      if (waits >= this.gateways.length) throw new Error('gateways do not serve all that they have')
    }
  }

  private async setPrices(): Promise<void> {
    await this.operate(({ db, pricing }) => db.transact((tx) => pricing.apply(tx, shipped())))
  }

  /** One range of each machine in turn, so that sold addresses are on all of them. */
  private addStock(): Promise<void> {
    return this.operate(async ({ stock }) => {
      const max = Math.max(...this.net.machines.map(({ prefixes }) => prefixes.length))
      for (let turn = 0; turn < max; turn += 1) {
        for (const { name, prefixes } of this.net.machines) {
          const prefix = readPrefix(prefixes[turn] ?? '')
          const nodeIds = await stock.ranges.nodeIdsOf([name])
          if (prefix) await stock.add(prefix, kindIn(soldIn, 4), undefined, nodeIds)
        }
      }
    })
  }

  private async addGateway(machine: Machine, country: string): Promise<void> {
    const { name, host } = machine
    const endpoint = ['--endpoint-host', host, '--endpoint-port', String(gatewayPort)]
    const { key } = (await this.tool('node', 'add', name, '--location', name, ...endpoint)) as { key: string }
    for (const exit of machine.exits) {
      await this.tool('exit', 'add', pool, '--local', exit, '--node', name, '--country', country)
    }
    const env = {
      TURNPIKE_DATA: join(this.folder, name),
      TURNPIKE_SHOP_URL: this.balancer.nodesUrl,
      TURNPIKE_NODE_KEY: key,
      TURNPIKE_GATEWAY_PORT: String(gatewayPort),
      TURNPIKE_GATEWAY_CONNECT: String(connectSeconds),
      TURNPIKE_GATEWAY_CARRY_ON: String(drainSeconds),
      TURNPIKE_LOG: 'warn',
      NODE_EXTRA_CA_CERTS: join(this.folder, 'shop.pem'),
      ...(await this.extras.gateway?.(machine)),
    }
    const log = join(this.folder, `${name}.log`)
    const inside = ['ip', 'netns', 'exec', machine.namespace, ...leash]
    const gateway = new RoleProcess('gateway', env, log, () => accepts(gatewayPort, host), inside)
    this.gateways.push({ machine, country, process: gateway })
  }
}
