import { createServices, type Services } from '../../src/app/shop/services.ts'
import type { CustomerId } from '../../src/core/ids.ts'
import type { Looked } from '../../src/domains/dedicated/index.ts'
import type { AddressRun } from '../../src/domains/stock/ranges/rules.ts'
import { runtimeWith } from './clock.ts'
import type { Engine } from './database.ts'
import {
  applyCatalogue,
  buyProxies,
  type DomainShop,
  kindIn,
  openDomainShop,
  prefixOf,
  shippedWith,
} from './proxies.ts'
import { addCustomer } from './wired.ts'

/** The interval of node reports and of the shop's checks, on the hand clock. */
export const tickMs = 5_000
const periodDays = 7
const pricePerDay = 1_000

/** A gateway as the shop sees it: whether it reports, and which addresses it claims to serve. */
export type OutageNode = {
  readonly id: string
  readonly name: string
  isAlive: boolean
  isClosed: boolean
  runs: readonly AddressRun[]
}

export type OutageShop = Awaited<ReturnType<typeof openOutageShop>>

/** A shop with gateways that a test starts and stops, and one customer. */
export async function openOutageShop(engine: Engine, prefix: string, names: readonly string[]) {
  const floor: DomainShop = await openDomainShop(engine)
  const { clock, db } = floor
  // Without the gateway that other tests have.
  const openShop = (): Services => createServices(db, runtimeWith(clock), floor.services.config)
  const services = openShop()
  const nodes: OutageNode[] = []
  for (const name of names) {
    const { id } = await db.transact((tx) => services.fleet.add(tx, { kind: 'gateway', name, location: 'test' }))
    nodes.push({ id, name, isAlive: true, isClosed: false, runs: [[0, 4]] })
  }
  const customer: CustomerId = await addCustomer(services, 10n ** 12n)

  const node = (name: string): OutageNode => {
    const found = nodes.find((each) => each.name === name)
    if (!found) throw new Error(`there is no node called ${name}`)
    return found
  }

  async function price(outage: Record<string, unknown>): Promise<void> {
    const list = shippedWith('AT')
    for (const kind of Object.values(list.dedicated.kinds)) kind.countries['AT'] = { per_day: pricePerDay }
    await applyCatalogue(services, { ...list, dedicated: { ...list.dedicated, outage } })
  }

  /** Every live node reports itself and the addresses that it can serve. */
  async function reportAll(): Promise<void> {
    const { ranges } = await services.stock.ranges.overview()
    for (const each of nodes.filter((one) => one.isAlive)) {
      await services.fleet.seen(each.id as never, { version: '0' })
      const trials = ranges.map(({ id, prefix: of }) => ({
        range: id,
        served: of === prefix ? each.runs : ([[0, 1]] as const),
        problems: [],
        seenAs: null,
      }))
      await services.stock.ranges.tried(each.id, trials, true)
    }
  }

  const town = {
    services,
    clock,
    customer,
    node,
    price,
    /** The check of a second shop process at each tick, in parallel. */
    alsoLook: undefined as (() => Promise<Looked>) | undefined,
    secondShop: openShop,
    get nowMs(): number {
      return clock.nowMs
    },
    async ticks(count: number): Promise<void> {
      for (let tick = 0; tick < count; tick += 1) {
        clock.advance(tickMs)
        await reportAll()
        await Promise.all([services.outageWatch.look(), town.alsoLook?.()])
      }
    },
    add: (text: string, on: string) => services.stock.add(prefixOf(text), kindIn('AT', 4), undefined, [node(on).id]),
    assign: (on: string) => services.stock.ranges.assign(prefixOf(prefix), [node(on).id]),
    async buy(): Promise<number> {
      const { proxies } = await buyProxies(services, customer, { code: 'AT', ipv: 4, period: periodDays })
      return proxies[0]?.id ?? 0
    },
    show: (id: number) => services.proxyOperator.show(id),
    /** The types of the customer's events without those of purchases, in order. */
    async eventTypes(): Promise<string[]> {
      const events = await services.events.list(customer, { after: 0, type: undefined, limit: 1000 })
      return events.map((event) => event.type).filter((type) => type !== 'order.created')
    },
    balance: async (): Promise<bigint> => (await services.ledger.balance(customer)).balance,
    /** The ended outages of a proxy. */
    async outagesOf(id: number): Promise<{ fromAt: number; untilAt: number; expiresBefore: number }[]> {
      const all = await services.outages.of(db, [id])
      return all.map(({ fromAt, untilAt, expiresBefore }) => ({
        fromAt,
        untilAt: untilAt ?? Number.NaN,
        expiresBefore: expiresBefore ?? Number.NaN,
      }))
    },
    /** The value of these proxies' outages at the price of their time, in kopecks. */
    async lostMoney(ids: readonly number[]): Promise<bigint> {
      const lengthMs = periodDays * 86_400_000
      const worth = (leftMs: number): bigint =>
        (BigInt(pricePerDay * 100 * periodDays) * BigInt(Math.max(0, leftMs))) / BigInt(lengthMs)
      let sum = 0n
      for (const id of ids) {
        for (const { fromAt, untilAt, expiresBefore } of await town.outagesOf(id)) {
          sum += worth(expiresBefore - fromAt) - worth(expiresBefore - untilAt)
        }
      }
      return sum
    },
    close: () => floor.close(),
  }
  await price({})
  await services.stock.add(prefixOf(prefix), kindIn('AT', 4))
  await reportAll()
  return town
}
