import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { engines } from '../../../test/harness/database.ts'
import {
  addStock,
  buyProxies,
  type DomainShop,
  openDomainShop,
  replaceProxy,
  shippedWith,
} from '../../../test/harness/proxies.ts'
import { isLong } from '../../../test/harness/scale.ts'
import { addCustomer, credit, findingsOf, keylessRequest } from '../../../test/harness/wired.ts'
import type { CustomerId } from '../../core/ids.ts'
import { Refusal } from '../../core/refusal.ts'
import { type Catalogue, priceDedicated, priceProlonging } from '../pricing/rules.ts'
import type { Ipv } from '../stock/rules.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000

type StockKind = { code: string; ipv: Ipv; prefix?: string; periods: readonly number[] }

/** Histories share a database, each with its own two countries: a database per history would take most of the time. */
const codes = 'AT BE BG CH CY CZ DK EE ES FI GR HR HU IE IS IT LI LT LU LV MC MT NO PL PT RO SE SI SK TR'.split(' ')
const perShop = codes.length / 2

/** A small stock of each kind, one kind that never runs out, and one without stock. */
function kindsFor(number: number): readonly StockKind[] {
  const [one = '', other = ''] = codes.slice(number * 2)
  return [
    { code: one, ipv: 4, prefix: `10.4.${number}.0/29`, periods: [7, 14, 30] },
    { code: one, ipv: 3, prefix: `10.3.${number}.0/31`, periods: [7, 14, 30] },
    { code: one, ipv: 6, prefix: `2001:db8:${number}::/126`, periods: [3, 7, 30] },
    { code: other, ipv: 6, prefix: `2001:db8:${number}:1::/64`, periods: [3, 7, 30] },
    { code: other, ipv: 4, periods: [7, 30] },
  ]
}
const kindCount = kindsFor(0).length
/** Balances of the customers; the last one can buy little. */
const money = [10n ** 8n, 10n ** 8n, 20_000n]

type Step =
  | { do: 'buy'; who: number; kind: number; period: number; count: number }
  | { do: 'prolong'; who: number; picks: number[]; period: number; foreign: number }
  | { do: 'replace'; who: number; pick: number; foreign: number }
  | { do: 'protocol'; who: number; pick: number; type: 'http' | 'socks'; foreign: number }
  | { do: 'renewal'; who: number; pick: number; period: number | null }
  | { do: 'job'; job: 'release' | 'rest' | 'renew' }
  | { do: 'credit'; amount: bigint }
  | { do: 'wait'; ms: number }
  | { do: 'until'; event: number; pick: number; early: number }

const who = fc.nat(money.length - 1)
const pick = fc.nat(30)
/** One request in ten names another customer's proxy. */
const foreign = fc.nat(9)
const of = <Name extends Step['do']>(name: Name) => fc.constant(name)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      do: of('buy'),
      who,
      kind: fc.nat(kindCount - 1),
      period: pick,
      count: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: of('prolong'),
      who,
      picks: fc.array(pick, { minLength: 1, maxLength: 4 }),
      period: fc.constantFrom(3, 7, 30),
      foreign,
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: of('replace'), who, pick, foreign }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: of('protocol'),
      who,
      pick,
      type: fc.constantFrom<'http' | 'socks'>('http', 'socks'),
      foreign,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: of('renewal'), who: fc.nat(1), pick, period: fc.constantFrom(null, 3, 7) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: of('job'),
      job: fc.constantFrom<'release' | 'rest' | 'renew'>('release', 'rest', 'renew'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: of('credit'), amount: fc.bigInt({ min: 1n, max: 20_000n }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: of('wait'),
      ms: fc.constantFrom(1, hourMs, dayMs, 3 * dayMs, 7 * dayMs, 11 * dayMs, 40 * dayMs),
    }),
  },
  // Advances to the next change, or to just before it.
  {
    weight: 6,
    arbitrary: fc.record({ do: of('until'), event: fc.nat(5), pick: fc.nat(2), early: fc.nat(1) }),
  },
)
const history = fc.array(step, { minLength: 30, maxLength: 36 })

/** A proxy of the model. */
type Held = {
  readonly id: number
  readonly who: number
  readonly kind: number
  address: string
  expiresAt: number
  portType: 'http' | 'socks'
  replacedAt: number | undefined
  renew: number | null
  triedAt: number | undefined
  gone: boolean
}

/** The model: holders and ends of proxies, resting addresses, balances. */
class Model {
  readonly proxies: Held[] = []
  /** Slots that rest, by address; a shared address is here once for each slot. */
  resting: { kind: number; address: string; until: number }[] = []
  readonly balances = [...money]
  nowMs = 0

  constructor(
    readonly catalogue: Catalogue,
    readonly kinds: readonly StockKind[],
    readonly addresses: readonly (readonly string[])[],
  ) {}

  /** The next ends of a term, a grace period, a rest, the wait for another swap or another renewal. */
  moments(event: number): number[] {
    const held = this.proxies.filter((each) => !each.gone)
    const all = [
      () => held.map((each) => each.expiresAt),
      () => held.map((each) => each.expiresAt + 3 * dayMs),
      () => this.resting.map((each) => each.until),
      () => held.map((each) => (each.replacedAt ?? 0) + dayMs),
      () => held.filter((each) => each.renew !== null).map((each) => each.expiresAt - dayMs),
      () => held.map((each) => (each.triedAt ?? 0) + hourMs),
    ][event]?.()
    return (all ?? []).filter((each) => each > this.nowMs).toSorted((a, b) => a - b)
  }

  slots(kind: number): number {
    return this.kinds[kind]?.ipv === 3 ? 3 : 1
  }

  taken(kind: number, address: string): number {
    const held = this.proxies.filter((each) => !each.gone && each.kind === kind && each.address === address)
    return held.length + this.resting.filter((each) => each.kind === kind && each.address === address).length
  }

  isFree(kind: number, address: string, buyer: number): boolean {
    const own = this.proxies.some((each) => !each.gone && each.who === buyer && each.address === address)
    return !own && this.taken(kind, address) < this.slots(kind)
  }

  available(kind: number, buyer: number): number {
    // A large block never runs out; all other stock is listed.
    if (this.kinds[kind]?.prefix?.endsWith('/64')) return Number.POSITIVE_INFINITY
    return (this.addresses[kind] ?? []).filter((address) => this.isFree(kind, address, buyer)).length
  }

  isHeld = (proxy: Held): boolean => !proxy.gone && this.nowMs < proxy.expiresAt + 3 * dayMs

  priceOf(ids: readonly Held[], period: number): bigint {
    const lines = new Map<number, number>()
    for (const proxy of ids) lines.set(proxy.kind, (lines.get(proxy.kind) ?? 0) + 1)
    let sum = 0n
    for (const [kind, count] of lines) {
      const { code, ipv } = this.kinds[kind] ?? { code: '', ipv: 4 }
      sum += priceProlonging(this.catalogue, { country: code, ipv, period, count }).total
    }
    return sum
  }

  prolong(proxies: readonly Held[], period: number): void {
    for (const proxy of proxies) {
      proxy.expiresAt = Math.max(proxy.expiresAt, this.nowMs) + period * dayMs
      proxy.triedAt = undefined
    }
  }

  release(): void {
    for (const proxy of this.proxies) {
      if (proxy.gone || this.nowMs < proxy.expiresAt + 3 * dayMs) continue
      proxy.gone = true
      this.resting.push({ kind: proxy.kind, address: proxy.address, until: proxy.expiresAt + 10 * dayMs })
    }
  }

  rest(): void {
    this.resting = this.resting.filter((each) => each.until > this.nowMs)
  }

  renew(): void {
    for (const proxy of this.proxies) {
      if (proxy.renew === null || proxy.gone || proxy.expiresAt > this.nowMs + dayMs) continue
      if (proxy.triedAt !== undefined && proxy.triedAt > this.nowMs - hourMs) continue
      proxy.triedAt = this.nowMs
      if (!this.isHeld(proxy)) continue
      this.balances[proxy.who] = (this.balances[proxy.who] ?? 0n) - this.priceOf([proxy], proxy.renew)
      this.prolong([proxy], proxy.renew)
    }
  }
}

/** The code of a refusal, or the result. */
async function outcomeOf<Result>(promise: Promise<Result>): Promise<Result | string> {
  try {
    return await promise
  } catch (error) {
    if (error instanceof Refusal) return error.code
    throw error
  }
}

class Replay {
  private constructor(
    readonly shop: DomainShop,
    readonly customers: readonly CustomerId[],
    readonly model: Model,
  ) {}

  static async begin(shop: DomainShop, number: number): Promise<Replay> {
    const kinds = kindsFor(number)
    const addresses: string[][] = []
    for (const { code, ipv, prefix } of kinds) {
      if (prefix) await addStock(shop.services, prefix, code, ipv)
      const filter = { country: code, ipv, state: '', after: 0, limit: 1000 }
      const slots = prefix ? await shop.services.stockOperator.list(filter) : []
      addresses.push([...new Set(slots.map((slot) => slot.address))])
    }
    const customers: CustomerId[] = []
    for (const each of money) customers.push(await addCustomer(shop.services, each))
    const model = new Model(await shop.services.pricing.current(), kinds, addresses)
    return new Replay(shop, customers, model)
  }

  customer(index: number): CustomerId {
    const found = this.customers[index]
    if (!found) throw new Error('there is no such customer')
    return found
  }

  /** A proxy that this customer bought at any time, or another customer's if `odd` is 0. */
  choose(by: number, wanted: number, odd: number): Held | undefined {
    const own = this.model.proxies.filter((each) => (odd === 0 ? each.who !== by : each.who === by))
    // One of the newest 8: older ones have mostly ended.
    return own.at(-1 - (wanted % Math.max(1, Math.min(own.length, 8))))
  }

  async take(each: Step): Promise<void> {
    const { model, shop } = this
    model.nowMs = shop.clock.nowMs
    if (each.do === 'wait') shop.clock.advance(each.ms)
    else if (each.do === 'until') {
      const moments = model.moments(each.event)
      const moment = moments[each.pick % Math.max(1, moments.length)]
      if (moment !== undefined) shop.clock.nowMs = Math.max(shop.clock.nowMs, moment - each.early)
    } else if (each.do === 'buy') await this.buy(each)
    else if (each.do === 'prolong') await this.prolong(each)
    else if (each.do === 'replace') await this.replace(each)
    else if (each.do === 'protocol') await this.protocol(each)
    else if (each.do === 'renewal') await this.renewal(each)
    else if (each.do === 'job') await this.job(each.job)
    else {
      await credit(shop.services, this.customer(2), each.amount)
      model.balances[2] = (model.balances[2] ?? 0n) + each.amount
    }
  }

  async buy(each: Extract<Step, { do: 'buy' }>): Promise<void> {
    const { model, shop } = this
    const kind = model.kinds[each.kind]
    const period = kind?.periods[each.period % kind.periods.length] ?? 7
    if (!kind) throw new Error('there is no such kind')
    const order = { country: kind.code, ipv: kind.ipv, period, count: each.count }
    const price = priceDedicated(model.catalogue, order).total
    const available = model.available(each.kind, each.who)
    const outcome = await outcomeOf(
      buyProxies(shop.services, this.customer(each.who), {
        code: kind.code,
        ipv: kind.ipv,
        period,
        count: each.count,
      }),
    )
    if (price > (model.balances[each.who] ?? 0n)) return expect(outcome).toBe('insufficient_funds')
    if (available < each.count) return expect(outcome).toBe('out_of_stock')
    if (typeof outcome === 'string') throw new Error(`a purchase was refused: ${outcome}`)
    expect(outcome.price).toBe(price)
    expect(outcome.proxies).toHaveLength(each.count)
    model.balances[each.who] = (model.balances[each.who] ?? 0n) - price
    for (const proxy of outcome.proxies) {
      expect(model.isFree(each.kind, proxy.address, each.who)).toBeTrue()
      expect(proxy.expiresAt).toBe(model.nowMs + period * dayMs)
      model.proxies.push({
        id: proxy.id,
        who: each.who,
        kind: each.kind,
        address: proxy.address,
        expiresAt: proxy.expiresAt,
        portType: 'http',
        replacedAt: undefined,
        renew: null,
        triedAt: undefined,
        gone: false,
      })
    }
  }

  async prolong(each: Extract<Step, { do: 'prolong' }>): Promise<void> {
    const { model, shop } = this
    const chosen = new Set<Held>()
    for (const [index, wanted] of each.picks.entries()) {
      const proxy = this.choose(each.who, wanted, index === 0 ? each.foreign : 1)
      if (proxy) chosen.add(proxy)
    }
    const all = [...chosen]
    if (all.length === 0) return
    const ids = all.map((proxy) => proxy.id)
    const quoted = await outcomeOf(shop.services.dedicated.quoteProlonging(this.customer(each.who), ids, each.period))
    const outcome = await outcomeOf(
      shop.services.dedicated.prolong(keylessRequest(this.customer(each.who)), ids, each.period),
    )
    if (!all.every((proxy) => proxy.who === each.who && model.isHeld(proxy))) {
      expect([quoted, outcome]).toEqual(['not_found', 'not_found'])
      return
    }
    const price = model.priceOf(all, each.period)
    expect(typeof quoted === 'string' ? quoted : quoted.total).toBe(price as never)
    if (price > (model.balances[each.who] ?? 0n)) return expect(outcome).toBe('insufficient_funds')
    expect(outcome).toBeObject()
    model.balances[each.who] = (model.balances[each.who] ?? 0n) - price
    model.prolong(all, each.period)
  }

  async replace(each: Extract<Step, { do: 'replace' }>): Promise<void> {
    const { model, shop } = this
    const proxy = this.choose(each.who, each.pick, each.foreign)
    if (!proxy) return
    const outcome = await outcomeOf(replaceProxy(shop.services, this.customer(each.who), proxy.id))
    if (proxy.who !== each.who || !model.isHeld(proxy)) return expect(outcome).toBe('not_found')
    const lately = proxy.replacedAt !== undefined && model.nowMs < proxy.replacedAt + dayMs
    if (model.nowMs >= proxy.expiresAt || lately) return expect(outcome).toBe('conflict')
    if (model.available(proxy.kind, each.who) < 1) return expect(outcome).toBe('out_of_stock')
    if (typeof outcome === 'string') throw new Error(`a replacement was refused: ${outcome}`)
    expect(model.isFree(proxy.kind, outcome.address, each.who)).toBeTrue()
    model.resting.push({ kind: proxy.kind, address: proxy.address, until: model.nowMs + 7 * dayMs })
    proxy.address = outcome.address
    proxy.replacedAt = model.nowMs
  }

  async protocol(each: Extract<Step, { do: 'protocol' }>): Promise<void> {
    const proxy = this.choose(each.who, each.pick, each.foreign)
    if (!proxy) return
    const outcome = await outcomeOf(
      this.shop.services.dedicated.setProtocol(this.customer(each.who), [proxy.id], each.type),
    )
    const fine = proxy.who === each.who && this.model.isHeld(proxy)
    expect(outcome).toBe(fine ? undefined : 'not_found')
    if (fine) proxy.portType = each.type
  }

  async renewal(each: Extract<Step, { do: 'renewal' }>): Promise<void> {
    const proxy = this.choose(each.who, each.pick, 1)
    if (!proxy) return
    const outcome = await outcomeOf(
      this.shop.services.dedicated.setRenewal(this.customer(each.who), [proxy.id], each.period),
    )
    if (!this.model.isHeld(proxy)) return expect(outcome).toBe('not_found')
    expect(outcome).toBeUndefined()
    proxy.renew = each.period
    proxy.triedAt = undefined
  }

  async job(job: 'release' | 'rest' | 'renew'): Promise<void> {
    const { dedicatedUpkeep, stock } = this.shop.services
    if (job === 'release') await dedicatedUpkeep.release(1000)
    else if (job === 'rest') await stock.endRest(1000)
    else await dedicatedUpkeep.renew(1000)
    this.model[job]()
    await this.compareSlots()
  }

  async compareSlots(): Promise<void> {
    const states: Record<string, number> = {}
    for (const each of await this.shop.services.stockOperator.counts()) {
      if (this.model.kinds.some(({ code }) => code === each.country)) {
        states[each.state] = (states[each.state] ?? 0) + each.count
      }
    }
    expect(states['leased'] ?? 0).toBe(this.model.proxies.filter((each) => !each.gone).length)
    expect(states['resting'] ?? 0).toBe(this.model.resting.length)
    expect(states['retired']).toBeUndefined()
  }

  /** Compares everything that customers and operators can see with the model. */
  async compare(): Promise<void> {
    const { model, shop } = this
    model.nowMs = shop.clock.nowMs
    const filter = {
      before: Number.MAX_SAFE_INTEGER,
      limit: 1000,
      status: '' as const,
      country: '',
      ipv: 0,
      comment: '',
    }
    for (const [index, customer] of this.customers.entries()) {
      const shown = await shop.services.dedicated.list(customer, { ...filter, expiresBefore: Number.MAX_SAFE_INTEGER })
      const expected = model.proxies.filter((each) => each.who === index && model.isHeld(each)).toReversed()
      const brief = ({ id, address, expiresAt, portType }: Held | (typeof shown)[number]) =>
        `${id} ${address} ${expiresAt} ${portType}`
      expect(shown.map(brief)).toEqual(expected.map(brief))
      expect((await shop.services.ledger.balance(customer)).balance).toBe((model.balances[index] ?? 0n) as never)
    }
    await this.compareSlots()
    expect(await findingsOf(shop.services)).toEqual([])
  }
}

const histories = isLong ? { sqlite: 400, postgres: 60 } : { sqlite: 10, postgres: 2 }

describe.each([...engines])('random histories of dedicated proxies on %s', (engine) => {
  test('random histories give the addresses, terms, prices and balances of the model, and verify finds nothing', async () => {
    let shop: DomainShop | undefined
    let number = 0
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        if (number % perShop === 0) {
          await shop?.close()
          shop = undefined
        }
        shop ??= await openDomainShop(engine, shippedWith(...codes))
        const replay = await Replay.begin(shop, number % perShop)
        number += 1
        for (const each of steps) await replay.take(each)
        await replay.compare()
      }),
      { numRuns: histories[engine] },
    )
    await shop?.close()
  })
})
