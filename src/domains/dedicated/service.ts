import { addDays } from '../../core/calendar.ts'
import { readCountry } from '../../core/country.ts'
import type { CustomerId, RandomBytes, TokenId } from '../../core/ids.ts'
import type { Kopecks } from '../../core/money.ts'
import { type Clock, toIso } from '../../core/time.ts'
import type { Vault } from '../../core/vault.ts'
import type { Counter, Database, Tx } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Events } from '../events/index.ts'
import type { Ports } from '../fleet/index.ts'
import type { Endpoint, Node } from '../fleet/rules.ts'
import type { Ledger } from '../ledger/index.ts'
import { assertCovers } from '../ledger/rules.ts'
import type { Orders, PurchaseAnswer, PurchaseRequest, Receipt } from '../orders/index.ts'
import { numberIn, type Plain, textIn } from '../orders/rules.ts'
import type { Buyer } from '../payments/index.ts'
import type { Pricing } from '../pricing/index.ts'
import { type Catalogue, type DedicatedPrice, priceDedicated } from '../pricing/rules.ts'
import type { Stock } from '../stock/index.ts'
import type { Kind, Place } from '../stock/rules.ts'
import type { Traffic } from '../traffic/index.ts'
import { hasExpired, noSuchProxy, replacedLately } from './errors.ts'
import { createDedicatedNodes } from './nodes.ts'
import type { Outages } from './outages/service.ts'
import {
  credentialRandomBytes,
  isHeld,
  kindName,
  makeCredentials,
  type PortType,
  type Proxy,
  replaceableAt,
  statusAt,
  subjectOf,
  vaultContext,
} from './rules.ts'
import { createProxyAccess } from './service-access.ts'
import { createProlonging, type ProlongPrice, priceItems } from './service-prolonging.ts'
import { kindOf, swapAddress } from './service-swap.ts'
import * as store from './store.ts'

export type Dedicated = ReturnType<typeof createDedicated>

export type Wish = Kind & { readonly period: number; readonly count: number }

/**
 * A proxy as its customer sees it: the password is open here and nowhere else. `endpoint` is where the node that
 * carries it is reached, if that has one of its own.
 */
export type OpenProxy = Proxy & { readonly password: string; readonly endpoint: Endpoint | null }

export type Bought = {
  readonly receipt: Receipt
  readonly wish: Wish
  readonly price: Kopecks
  readonly proxies: readonly OpenProxy[]
}

export type DedicatedDeps = {
  readonly db: Database
  readonly ledger: Pick<Ledger, 'lock'>
  readonly customers: Pick<Customers, 'blockedAmong' | 'mode'>
  readonly ports: Ports
  readonly traffic: Pick<Traffic, 'counts'>
  readonly orders: Orders
  readonly events: Pick<Events, 'note'>
  readonly pricing: Pricing
  readonly outages: Pick<Outages, 'endBySwap'>
  readonly stock: Stock
  readonly clock: Clock
  readonly random: RandomBytes
  readonly sha256: (text: string) => Uint8Array
  readonly vault: Vault
  readonly proxyIds: Counter
}

/** Bytes that went to the customer, and that came from the customer. */
export type Carried = { readonly received: bigint; readonly sent: bigint }
const nothing: Carried = { received: 0n, sent: 0n }

const product = 'dedicated'
const mostListed = 10_000
const listedAtOnce = 1000

export function createDedicated(deps: DedicatedDeps) {
  const { db, orders, pricing, stock, clock, vault } = deps

  const openProxy = (proxy: Proxy, endpoint: Endpoint | null): OpenProxy => ({
    ...proxy,
    password: vault.open(proxy.sealedPassword, vaultContext(proxy.id)),
    endpoint,
  })

  async function openAll(found: readonly Proxy[] | Promise<readonly Proxy[]>): Promise<OpenProxy[]> {
    const proxies = await found
    const endpoints = await stock.ranges.endpointsOf(proxies.map((proxy) => proxy.place))
    return proxies.map((proxy) => openProxy(proxy, endpoints.get(proxy.place) ?? null))
  }

  /** The customer's proxies with these numbers, or a refusal that names the ones that are not there. */
  function assertAll(ids: readonly number[], found: readonly Proxy[], nowMs: number): readonly Proxy[] {
    const held = new Set(found.filter((proxy) => isHeld(proxy, nowMs)).map((proxy) => proxy.id))
    const missing = ids.filter((id) => !held.has(id))
    if (missing.length > 0) throw noSuchProxy(missing)
    return found
  }

  const lockAll = async (tx: Tx, customer: CustomerId, ids: readonly number[]): Promise<readonly Proxy[]> =>
    assertAll(ids, await store.lockProxies(tx, customer, ids), clock())

  const access = createProxyAccess({ ...deps, lockAll })
  const prolonging = createProlonging({ ...deps, lockAll })

  function makeProxies(
    wish: Wish,
    of: { customer: CustomerId; order: Proxy['order']; ids: readonly number[]; nowMs: number },
    places: readonly Place[],
    carriers: readonly Node[],
  ): OpenProxy[] {
    const expiresAt = addDays(of.nowMs, wish.period)
    return places.map((place, index) => {
      const id = of.ids[index]
      if (id === undefined) throw new Error('there are fewer numbers than places')
      const { username, password } = makeCredentials(id, deps.random(credentialRandomBytes))
      return {
        id,
        customer: of.customer,
        order: of.order,
        place: place.id,
        address: place.address,
        country: wish.country,
        ipv: wish.ipv,
        portType: 'http',
        username,
        password,
        endpoint: endpointOf(place, carriers),
        sealedPassword: vault.seal(password, vaultContext(id)),
        passwordDigest: deps.sha256(password),
        comment: '',
        state: 'held',
        startedAt: of.nowMs,
        expiresAt,
        replacedAt: null,
        replacedBy: null,
        endedAt: null,
        interruptedAt: null,
        interruptedBy: null,
        resumedAt: null,
        sources: [],
        entryPort: null,
        renewPeriod: null,
        renewToken: null,
        changedAt: of.nowMs,
      }
    })
  }

  /** Charges and assigns in one transaction: nobody pays for an address he did not get. */
  async function buy(request: PurchaseRequest<Bought>, wish: Wish): Promise<PurchaseAnswer> {
    // Numbers come from transactions of their own, so they are fetched before this one begins.
    const [catalogue, ids, ready] = await Promise.all([
      pricing.current(request.catalogue),
      deps.proxyIds.take(wish.count),
      stock.prepare(wish, wish.count),
    ])
    return orders.sell(request, { product, action: 'buy', input: wishJson(wish) }, async (sale) => {
      const { tx, order, nowMs } = sale
      const { customer } = request.by
      const price = priceDedicated(catalogue, wish)
      assertCovers(sale.account, price.total)
      const held = wish.ipv === 3 ? await store.heldAddresses(tx, customer, wish.country) : new Set<string>()
      const places = await stock.take(tx, wish, wish.count, held, ready)
      const receipt = await sale.charge({
        price: price.total,
        calculation: buyJson(catalogue, wish, price, addDays(nowMs, wish.period)),
        note: `${wish.count} × ${wish.country} ${kindName(wish.ipv)}, ${wish.period} days`,
      })
      const proxies = makeProxies(wish, { customer, order, ids, nowMs }, places, ready.carriers)
      stock.lease(
        tx,
        places.map((place, index) => ({ place, proxy: proxies[index]?.id ?? 0 })),
        nowMs,
      )
      store.insertProxies(tx, proxies)
      return { receipt, wish, price: price.total, proxies }
    })
  }

  return {
    nodes: createDedicatedNodes(deps),

    async quote(wish: Wish): Promise<DedicatedPrice & { available: number }> {
      const price = priceDedicated(await pricing.current(), wish)
      return { ...price, available: await stock.available(wish) }
    },

    buy,

    /** Buys when a payment arrives. */
    buyer: {
      product,
      quote: async (stored) => priceDedicated(await pricing.current(), readOrder(stored)).total,
      buy: (request, stored) => buy({ ...request, automatic: true }, readOrder(stored)),
    } satisfies Buyer,

    async quoteProlonging(customer: CustomerId, ids: readonly number[], period: number): Promise<ProlongPrice> {
      return prolonging.quote(db, assertAll(ids, await store.findProxies(db, customer, ids), clock()), period)
    },

    /** All or nothing: ids, addresses and credentials stay, and time is added to what is left. */
    prolong: (...asked: Parameters<typeof prolonging.prolong>): Promise<PurchaseAnswer> => prolonging.prolong(...asked),

    /** What a customer has, newest first. */
    async list(customer: CustomerId, filter: Omit<store.ListFilter, 'nowMs'>): Promise<OpenProxy[]> {
      return openAll(await store.listProxies(db, customer, { ...filter, nowMs: clock() }))
    },

    /** These proxies, or all that are in use, newest first, as far as a file goes. */
    async listAll(customer: CustomerId, ids: readonly number[] | undefined): Promise<OpenProxy[]> {
      if (ids) return openAll(assertAll(ids, await store.findProxies(db, customer, ids), clock()))
      const found: Proxy[] = []
      for (let before = Number.MAX_SAFE_INTEGER; found.length < mostListed; before = found.at(-1)?.id ?? 0) {
        const filter = { country: '', ipv: 0, expiresBefore: Number.MAX_SAFE_INTEGER, comment: '' }
        const batch = await store.listProxies(db, customer, {
          ...filter,
          status: 'active',
          before,
          limit: listedAtOnce,
          nowMs: clock(),
        })
        found.push(...batch)
        if (batch.length < listedAtOnce) break
      }
      return openAll(found)
    },

    setProtocol: (customer: CustomerId, ids: readonly number[], portType: PortType): Promise<void> =>
      db.transact(async (tx) => {
        await lockAll(tx, customer, ids)
        store.setPortType(tx, ids, portType, clock())
      }),

    /** Lets whoever comes from an address in without a password, or no longer. */
    allowSource: (customer: CustomerId, ids: readonly number[], source: string): Promise<OpenProxy[]> =>
      openAll(access.allow(customer, ids, source)),
    disallowSource: (customer: CustomerId, ids: readonly number[], source: string): Promise<OpenProxy[]> =>
      openAll(access.disallow(customer, ids, source)),

    resetPasswords: (customer: CustomerId, ids: readonly number[]): Promise<OpenProxy[]> =>
      openAll(access.resetPasswords(customer, ids)),

    /** What each has carried, both ways, as far as nodes have told. */
    async carried(proxies: readonly { readonly id: number }[]): Promise<ReadonlyMap<number, Carried>> {
      const totals = await deps.traffic.counts.totals(
        db,
        proxies.map((proxy) => subjectOf(proxy.id)),
      )
      return new Map(proxies.map((proxy) => [proxy.id, totals.get(subjectOf(proxy.id)) ?? nothing]))
    },

    setComment: (customer: CustomerId, ids: readonly number[], comment: string): Promise<void> =>
      db.transact(async (tx) => {
        await lockAll(tx, customer, ids)
        store.setComment(tx, ids, comment)
      }),

    /**
     * Renews by this many days, a day ahead, until told otherwise. The period must be one that can be bought. What is
     * renewed is spent by the token that asks for it now.
     */
    async setRenewal(
      customer: CustomerId,
      ids: readonly number[],
      period: number | null,
      token: TokenId | null = null,
    ): Promise<void> {
      const catalogue = await pricing.current()
      await db.transact(async (tx) => {
        const proxies = await lockAll(tx, customer, ids)
        if (period !== null) priceItems(catalogue, proxies, period, clock())
        store.setRenewal(tx, ids, period, token)
      })
    },

    /** Swaps the address for a free one of the same kind. The old one rests; id, credentials and term stay. */
    async replace(customer: CustomerId, id: number): Promise<OpenProxy> {
      const [[unlocked], catalogue] = await Promise.all([store.findProxies(db, customer, [id]), pricing.current()])
      if (!unlocked) throw noSuchProxy([id])
      const ready = await stock.prepare(kindOf(unlocked), 1)
      return db.transact(async (tx) => {
        // In turn with the customer's purchases and other swaps: two at once could choose slots of one shared address.
        await deps.ledger.lock(tx, customer)
        const [proxy] = await lockAll(tx, customer, [id])
        if (!proxy) throw noSuchProxy([id])
        const nowMs = clock()
        if (statusAt(proxy, nowMs) === 'expired') throw hasExpired()
        const againAt = replaceableAt(proxy)
        if (nowMs < againAt) throw replacedLately(toIso(againAt))
        const cause = { by: 'customer', reason: null } as const
        const usable = await deps.outages.endBySwap(tx, proxy, catalogue.dedicated.outage)
        const { swapped, place } = await swapAddress(deps, tx, usable, { ready, cause, nowMs })
        return openProxy(swapped, endpointOf(place, ready.carriers))
      })
    },

    /** A proxy with its password, for who checks it on its customer's behalf. */
    async load(customer: CustomerId, id: number): Promise<OpenProxy> {
      const [proxy] = assertAll([id], await store.findProxies(db, customer, [id]), clock())
      const [opened] = proxy ? await openAll([proxy]) : []
      if (!opened) throw noSuchProxy([id])
      return opened
    },
  }
}

const endpointOf = (place: Place, carriers: readonly Node[]): Endpoint | null =>
  carriers.find((node) => node.id === place.carrier)?.endpoint ?? null

/** An order that was stored with a payment. */
function readOrder(stored: Plain): Wish {
  const country = readCountry(textIn(stored, 'country') ?? '')
  const ipv = ([3, 4, 6] as const).find((each) => each === numberIn(stored, 'ipv'))
  const [period, count] = [numberIn(stored, 'period'), numberIn(stored, 'count')]
  if (!country || !ipv || period === undefined || count === undefined)
    throw new Error('a stored order of proxies cannot be read')
  return { country, ipv, period, count }
}

const wishJson = (wish: Wish): Plain => ({
  country_code: wish.country,
  period: wish.period,
  count: wish.count,
  ipv: wish.ipv,
})

const buyJson = (catalogue: Catalogue, wish: Wish, price: DedicatedPrice, expiresAt: number): Plain => ({
  catalogue: catalogue.version,
  country: wish.country,
  ipv: wish.ipv,
  period: wish.period,
  count: wish.count,
  kopecks: String(price.total),
  discount_percent: price.discountPercent,
  expires_at: expiresAt,
})
