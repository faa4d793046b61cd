import type { Address } from '../../core/address.ts'
import { type CustomerId, firstId } from '../../core/ids.ts'
import { toIso } from '../../core/time.ts'
import type { Delivered } from '../orders/index.ts'
import { listIn, maxDelivered, type Order } from '../orders/rules.ts'
import type { HeldGoods } from '../pricing/index.ts'
import { nothingToEnd } from './errors.ts'
import { type DedicatedDeps, type ProxyTraffic, product, trafficOf } from './proxies.ts'
import { isHeld, type Proxy, type ProxyStatus, readUsername, statusAt } from './rules.ts'
import * as store from './store.ts'

/** A proxy as the operator sees it: everything but its password. */
export type ProxySight = ProxyTraffic & {
  readonly proxy: Omit<Proxy, 'sealedPassword' | 'passwordDigest'>
  readonly status: ProxyStatus | 'gone'
  /** The gateway that carries the proxy, or did last. */
  readonly node: string | null
  /** Every address that the proxy has had, oldest first. */
  readonly addresses: Awaited<ReturnType<DedicatedDeps['stockOperator']['leasesOf']>>
}

const shownStatus = (
  { clock }: DedicatedDeps,
  proxy: Pick<Proxy, 'state' | 'expiresAt' | 'interruptedAt'>,
): ProxySight['status'] => (isHeld(proxy, clock()) ? statusAt(proxy, clock()) : 'gone')

export async function show(deps: DedicatedDeps, id: number): Promise<ProxySight> {
  const found = await store.findProxy(deps.db, id)
  if (!found) throw nothingToEnd()
  const { sealedPassword: _, passwordDigest: __, ...proxy } = found
  const traffic = (await trafficOf(deps, [proxy])).get(id)
  return {
    proxy,
    status: shownStatus(deps, proxy),
    node: (await deps.stock.served.servingNodeNames([proxy.slot])).get(proxy.slot) ?? null,
    received: traffic?.received ?? 0n,
    sent: traffic?.sent ?? 0n,
    addresses: await deps.stockOperator.leasesOf(id),
  }
}

/** A page of a customer's proxies that are not gone, newest first, without passwords. */
export async function listOf(deps: DedicatedDeps, customer: CustomerId, before: number | undefined, limit: number) {
  const any = { status: '', country: '', ipv: 0, expiresBefore: Number.MAX_SAFE_INTEGER, comment: '' } as const
  const from = { before: before ?? Number.MAX_SAFE_INTEGER, limit, nowMs: deps.clock() }
  const proxies = await store.listProxies(deps.db, customer, { ...any, ...from })
  const traffic = await trafficOf(deps, proxies)
  return proxies.map((proxy) => ({
    ...proxy,
    status: shownStatus(deps, proxy),
    received: traffic.get(proxy.id)?.received ?? 0n,
    sent: traffic.get(proxy.id)?.sent ?? 0n,
  }))
}

/** The proxies that a number or a login names, or that have an address now. Each is found by an index. */
export async function findNamed(deps: DedicatedDeps, of: { readonly text: string; readonly address?: Address }) {
  const nowMs = deps.clock()
  const leases = of.address ? await deps.stockOperator.holdersBetween(of.address, nowMs, nowMs) : []
  const number = /^[1-9]\d{0,14}$/.test(of.text) ? Number(of.text) : readUsername(of.text)
  const ids = [...leases.map((each) => each.proxy), ...(number === undefined ? [] : [number])]
  const isLogin = readUsername(of.text) !== undefined
  return (await store.findMany(deps.db, ids)).filter((proxy) => !isLogin || proxy.username === of.text)
}

/** How many proxies run now, and how many of them are interrupted. */
export const countActive = ({ db, clock }: DedicatedDeps) => store.countActive(db, clock())

/** Running proxies in each country, and how many customers have them. */
export const countByCountry = ({ db, clock }: DedicatedDeps) => store.countByCountry(db, clock())

/** Proxies that end on each UTC day until a moment. */
export const countEnding = ({ db, clock }: DedicatedDeps, toAt: number) => store.countEnding(db, clock(), toAt)

/** Proxies of each kind that were sold since a moment, without prolongations. */
export const countSold = ({ db }: DedicatedDeps, sinceAt: number) => store.countSold(db, firstId('order', sinceAt))

/** How many customers hold proxies of each kind, and how many of these renew automatically. */
export async function held({ db, clock }: DedicatedDeps): Promise<HeldGoods[]> {
  const [kinds, renewals] = [await store.countHeld(db, clock()), await store.countRenewals(db, clock())]
  return kinds.map(({ country, ipv, proxies, customers }) => {
    const own = renewals.filter((each) => each.country === country && each.ipv === ipv)
    return {
      goods: { product, country, ipv },
      customers,
      services: proxies,
      renewals: new Map(own.map((each) => [each.period, each.proxies])),
    }
  })
}

/** Which proxies had an address between two moments, and the orders that bought them. */
export async function holdersOf(deps: DedicatedDeps, address: Address, from: number, to: number) {
  const leases = await deps.stockOperator.holdersBetween(address, from, to)
  const ids = leases.map((each) => each.proxy)
  const proxies = new Map((await store.findMany(deps.db, ids)).map((proxy) => [proxy.id, proxy]))
  return leases.flatMap((lease) => {
    const proxy = proxies.get(lease.proxy)
    return proxy ? [{ ...lease, customer: proxy.customer, order: proxy.order, username: proxy.username }] : []
  })
}

const idsOf = async ({ db }: DedicatedDeps, { action, customer, id, input }: Order): Promise<readonly number[]> =>
  action === 'buy'
    ? store.idsOfOrder(db, customer, id)
    : (listIn(input, 'ids') ?? []).filter((each) => typeof each === 'number')

/** The proxies that an order has bought or prolonged, as they are now. */
export async function delivered(deps: DedicatedDeps, order: Order): Promise<Delivered> {
  const ids = await idsOf(deps, order)
  const proxies = await store.findMany(deps.db, ids.slice(0, maxDelivered))
  const traffic = await trafficOf(deps, proxies)
  const services = proxies.map((proxy) => ({
    proxy: proxy.id,
    address: proxy.address,
    username: proxy.username,
    status: shownStatus(deps, proxy),
    started_at: toIso(proxy.startedAt),
    expires_at: toIso(proxy.expiresAt),
    rx_bytes: Number(traffic.get(proxy.id)?.received ?? 0n),
    tx_bytes: Number(traffic.get(proxy.id)?.sent ?? 0n),
  }))
  return { services, count: ids.length }
}
