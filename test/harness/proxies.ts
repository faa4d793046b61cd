import type { Services } from '../../src/app/shop/services.ts'
import { type Prefix, readPrefix } from '../../src/core/address.ts'
import { readCountry } from '../../src/core/country.ts'
import type { CustomerId } from '../../src/core/ids.ts'
import type { Database } from '../../src/db/transaction.ts'
import type { BoughtProxies, OpenProxy, Prolonged } from '../../src/domains/dedicated/index.ts'
import type { PurchaseRequest } from '../../src/domains/orders/index.ts'
import shippedCatalogue from '../../src/domains/pricing/catalogue.yaml'
import type { Ipv, Kind } from '../../src/domains/stock/rules.ts'
import { HandClock } from './clock.ts'
import { type Engine, openTestDatabase, type TestDatabase } from './database.ts'
import { buying, wire } from './wired.ts'

/** A price list as written, which a test can change in a copy. */
export type Written = {
  dedicated: {
    prolong_periods: number[]
    kinds: Record<
      string,
      {
        periods: number[]
        countries: Record<string, { per_day?: number | string; per_period?: Record<string, number | string> }>
        volume?: { from: number; percent: number }[]
        term?: { from: number; percent: number }[]
      }
    >
  }
  [part: string]: unknown
}

export const shipped = (): Written => structuredClone<Written>(shippedCatalogue as never)

/** The shipped list with more countries, in which all kinds are sold at one rouble a day. */
export function shippedWith(...codes: readonly string[]): Written {
  const list = shipped()
  for (const kind of Object.values(list.dedicated.kinds))
    for (const code of codes) kind.countries[code] = { per_day: 1 }
  return list
}

export const applyCatalogue = (services: Services, value: unknown): Promise<number> =>
  services.db.transact((tx) => services.pricing.apply(tx, value))

export function kindIn(code: string, ipv: Ipv): Kind {
  const country = readCountry(code)
  if (!country) throw new Error(`${code} is not a country`)
  return { country, ipv }
}

export function prefixOf(text: string): Prefix {
  const prefix = readPrefix(text)
  if (!prefix) throw new Error(`${text} is not a prefix`)
  return prefix
}

export async function addStock(services: Services, prefix: string, code: string, ipv: Ipv): Promise<number> {
  return services.stock.add(prefixOf(prefix), kindIn(code, ipv))
}

/** All domains on a fresh database with the shipped prices, without HTTP. */
export type DomainShop = {
  readonly engine: Engine
  readonly db: Database
  readonly testDatabase: TestDatabase
  readonly clock: HandClock
  readonly services: Services
  close(): Promise<void>
}

export async function openDomainShop(
  engine: Engine,
  catalogue: unknown = shipped(),
  connections?: number,
): Promise<DomainShop> {
  const opened = await openTestDatabase(engine, connections)
  const clock = new HandClock()
  const services = wire(opened.db, clock)
  await applyCatalogue(services, catalogue)
  return { engine, ...opened, clock, services }
}

export async function buyProxies(
  services: Services,
  customer: CustomerId,
  order: { code: string; ipv: Ipv; period?: number; count?: number },
): Promise<BoughtProxies> {
  const input = { ...kindIn(order.code, order.ipv), period: order.period ?? 30, count: order.count ?? 1 }
  return buying(customer, (request: PurchaseRequest<BoughtProxies>) => services.dedicated.buy(request, input))
}

export async function prolongProxies(
  services: Services,
  customer: CustomerId,
  ids: readonly number[],
  period = 30,
): Promise<Prolonged> {
  return buying(customer, (request: PurchaseRequest<Prolonged>) => services.dedicated.prolong(request, ids, period))
}

export const replaceProxy = (services: Services, customer: CustomerId, id: number): Promise<OpenProxy> =>
  buying(customer, (request: PurchaseRequest<OpenProxy>) => services.dedicated.replace(request, id))

/** Stock slots by state; every slot is in exactly one. */
export async function slotsByState(services: Services): Promise<Record<string, number>> {
  const sums: Record<string, number> = { free: 0, leased: 0, resting: 0, retired: 0 }
  for (const each of await services.stockOperator.counts()) sums[each.state] = (sums[each.state] ?? 0) + each.count
  return sums
}
