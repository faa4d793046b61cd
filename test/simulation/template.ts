import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { readMigrations } from '../../src/app/shop/database.ts'
import { createServices, type Services, shopConfigOf } from '../../src/app/shop/services.ts'
import { readPrefix } from '../../src/core/address.ts'
import { readCountry } from '../../src/core/country.ts'
import { kopecks } from '../../src/core/money.ts'
import { noStalls } from '../../src/core/stall-monitor.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openDatabase } from '../../src/db/open.ts'
import catalogue from '../../src/domains/pricing/catalogue.yaml'
import { runtimeWith } from '../harness/clock.ts'
import type { Engine } from '../harness/database.ts'
import { memoryFolder } from '../harness/memory.ts'
import { createDatabase, postgresUrl } from '../harness/postgres.ts'
import { addStockGateway } from '../harness/stock-gateway.ts'
import { gateways } from './plan.ts'
import { providerShop } from './provider.ts'
import { configOf, vault } from './shop.ts'

type TemplateCustomer = {
  readonly id: string
  readonly token: string
  readonly login: string
  /** The id of a second sub-user, which gets traffic of the first one. */
  readonly second: string
}

/** The database that every simulation begins with. */
export type Template = {
  readonly address: string
  readonly customers: readonly TemplateCustomer[]
  /** Join keys of gateways. */
  readonly gateways: readonly string[]
  remove(): Promise<void>
}

const startedAt = Date.UTC(2026, 0, 15, 12)
/** Enough for a few purchases of each, so that accounts and stock run out. */
const startingBalance = kopecks(60_000n)
const customerCount = 3
export const pool = 'datacenter'
const fileName = 'turnpike.db'

/** Makes the database: prices, little stock, and customers with money. */
export async function makeTemplate(engine: Engine = 'sqlite'): Promise<Template> {
  const copy = await makeCopy(engine)
  const { folder, address } = copy
  const db = openDatabase(address)
  try {
    await migrate(db, readMigrations())
    const runtime = { ...runtimeWith({ read: () => startedAt - 60_000 }), stalls: noStalls }
    const services = createServices(db, runtime, shopConfigOf(configOf(folder), vault))
    services.premium.exits.isServed = async () => true
    await db.transact((tx) => services.customers.decideMode(tx, 'production'))
    await db.transact(async (tx) => void (await services.pricing.apply(tx, catalogue)))
    const customers = await addCustomers(services)
    await addStock(services)
    await addVpnNode(services)
    const keys = await addGateways(services)
    await services.providers.set('yookassa', {
      methods: undefined,
      fee: none,
      min: none,
      max: none,
      secret: providerShop.secret,
      settings: new Map([['shop_id', providerShop.id]]),
    })
    return { address, customers, gateways: keys, remove: () => copy.remove() }
  } finally {
    await db.close()
  }
}

const none = new Map<string, string>()

async function addCustomers({ customers, db, ledger, premium }: Services): Promise<TemplateCustomer[]> {
  const made: TemplateCustomer[] = []
  for (let count = 1; count <= customerCount; count += 1) {
    const { id } = await customers.create(`customer ${count}`)
    await db.transact((tx) => ledger.credit(tx, id, startingBalance, 'operator', 'top-up'))
    const { text } = await customers.issueToken(id, { name: 'simulated' })
    await premium.traffic.buy(
      { by: { customer: id, token: null }, key: undefined },
      { pool, tenths: 1, subuser: undefined },
    )
    const [subuser] = await db.all<{ login: string }>('SELECT login FROM subusers WHERE customer_id = $1', [id])
    const second = await premium.subusers.create(id, { name: 'second' })
    made.push({ id, token: text, login: subuser?.login ?? '', second: second.id })
  }
  return made
}

/** Gateways that the simulation joins with their keys. */
async function addGateways({ db, fleet }: Services): Promise<string[]> {
  const keys: string[] = []
  for (let count = 1; count <= gateways; count += 1) {
    const name = `gateway-${count}`
    await db.transact((tx) => fleet.add(tx, { kind: 'gateway', name, location: 'de' }))
    keys.push((await fleet.issueKey(name)).text)
  }
  return keys
}

/** A VPN node that is always up. */
const addVpnNode = ({ db, fleet }: Services): Promise<unknown> =>
  db.transact(async (tx) => {
    const { id } = await fleet.add(tx, { kind: 'vpn', name: 'vpn-1', location: 'de' })
    await tx.run('UPDATE nodes SET last_seen_at = $2 WHERE id = $1', [id, 8_000_000_000_000_000])
  })

/** Eight addresses of two countries each: customers meet at the last ones. */
async function addStock(services: Services): Promise<void> {
  const { stock } = addStockGateway(services)
  for (const [prefix, code] of [
    ['203.0.113.0/29', 'DE'],
    ['203.0.113.8/29', 'NL'],
  ] as const) {
    const [read, country] = [readPrefix(prefix), readCountry(code)]
    if (read && country) await stock.add(read, { country, ipv: 4 })
  }
}

type Copy = { readonly folder: string; readonly address: string; remove(): Promise<void> }

/** A copy of the database, and a folder for the files of one simulation. */
export const copyTemplate = ({ address }: Template): Promise<Copy> =>
  makeCopy(address.startsWith('postgres') ? 'postgres' : 'sqlite', address)

async function makeCopy(engine: Engine, source?: string): Promise<Copy> {
  const folder = mkdtempSync(join(memoryFolder, 'turnpike-simulation-'))
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true })
  if (engine === 'sqlite') {
    const address = join(folder, fileName)
    if (source !== undefined) copyFileSync(source, address)
    return { folder, address, remove: async () => removeFolder() }
  }
  const database = await createDatabase(await postgresUrl(), source)
  return {
    folder,
    address: database.url,
    async remove() {
      await database.drop()
      removeFolder()
    },
  }
}
