import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { engines } from '../../../../test/harness/database.ts'
import {
  addStock,
  buyProxies,
  type DomainShop,
  openDomainShop,
  prolongProxies,
  shippedWith,
} from '../../../../test/harness/proxies.ts'
import { scaled } from '../../../../test/harness/scale.ts'
import { addCustomer, findingsOf } from '../../../../test/harness/wired.ts'
import type { CustomerId } from '../../../core/ids.ts'
import { Refusal } from '../../../core/refusal.ts'

const dayMs = 86_400_000
const graceMs = 3 * dayMs
const extend = { time: 'extend', address: 'keep', afterMs: 60_000 } as const

type Step =
  | { do: 'interrupt'; agoMs: number; cause: 'outage' | 'quarantine' }
  | { do: 'interrupt twice at once' }
  | { do: 'restore'; times: number }
  | { do: 'prolong' }
  | { do: 'swap' }
  | { do: 'release' }
  | { do: 'wait'; ms: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('interrupt' as const),
      agoMs: fc.nat(2 * dayMs),
      cause: fc.constantFrom('outage' as const, 'quarantine' as const),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'interrupt twice at once' }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('restore' as const), times: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: fc.constant<Step>({ do: 'prolong' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'swap' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'release' }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(4 * dayMs) }) },
)

/** The model: a term that is paused during an outage. */
class Model {
  interruptedAt: number | null = null
  lastEndAt = 0
  isGone = false
  constructor(
    readonly startedAt: number,
    public expiresAt: number,
  ) {}

  clockAt(nowMs: number): number {
    return this.interruptedAt ?? nowMs
  }
  isActive(nowMs: number): boolean {
    return !this.isGone && this.clockAt(nowMs) < this.expiresAt
  }
  isHeld(nowMs: number): boolean {
    return !this.isGone && this.clockAt(nowMs) < this.expiresAt + graceMs
  }
  interrupt(nowMs: number, fromAt: number): void {
    if (!this.isActive(nowMs) || this.interruptedAt !== null) return
    this.interruptedAt = Math.max(Math.min(Math.max(fromAt, this.startedAt), nowMs, this.expiresAt), this.lastEndAt)
  }
  restore(nowMs: number): void {
    if (this.interruptedAt === null || this.isGone) return
    const endedAt = Math.max(nowMs, this.interruptedAt)
    this.expiresAt += endedAt - this.interruptedAt
    // Two outages of one proxy never begin at the same moment.
    this.lastEndAt = Math.max(endedAt, this.interruptedAt + 1)
    this.interruptedAt = null
  }
}

describe.each([...engines])('random outages on %s', (engine) => {
  let shop: DomainShop
  let customer: CustomerId
  beforeAll(async () => {
    shop = await openDomainShop(engine, shippedWith('AT'))
    await addStock(shop.services, '10.3.0.0/23', 'AT', 4)
    customer = await addCustomer(shop.services, 10n ** 12n)
  })
  afterAll(() => shop.close())

  async function runSteps(steps: readonly Step[]): Promise<void> {
    const { services, clock } = shop
    const { outages, dedicated } = services
    const bought = await buyProxies(services, customer, { code: 'AT', ipv: 4, period: 7 })
    const id = bought.proxies[0]?.id ?? 0
    const model = new Model(clock.nowMs, clock.nowMs + 7 * dayMs)
    /** The time at which the proxy got its address, or was prolonged after its end. */
    let beganAt = 0
    for (const each of steps) {
      if (each.do === 'wait') clock.advance(each.ms)
      else if (each.do === 'interrupt') {
        const servedAt = clock.nowMs - each.agoMs
        await outages.interrupt([{ proxy: id, servedAt }], each.cause)
        model.interrupt(clock.nowMs, Math.max(servedAt, beganAt))
      } else if (each.do === 'interrupt twice at once') {
        const again = () => outages.interrupt([{ proxy: id, servedAt: clock.nowMs }], 'outage')
        const opened = await Promise.all([again(), again(), again()])
        expect(opened.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(1)
        model.interrupt(clock.nowMs, clock.nowMs)
      } else if (each.do === 'restore') {
        const ends = Array.from({ length: each.times }, () => outages.restore(customer, [id], extend))
        const restored = (await Promise.all(ends)).reduce((sum, one) => sum + one, 0)
        expect(restored).toBe(model.interruptedAt !== null && !model.isGone ? 1 : 0)
        model.restore(clock.nowMs)
      } else if (each.do === 'prolong') {
        const done = await prolongProxies(services, customer, [id], 3).then(
          () => true,
          (error: unknown) => !(error instanceof Refusal) && Promise.reject(error),
        )
        expect(done).toBe(model.isHeld(clock.nowMs))
        if (done && !model.isActive(clock.nowMs)) beganAt = clock.nowMs
        if (done) model.expiresAt = Math.max(model.expiresAt, model.clockAt(clock.nowMs)) + 3 * dayMs
      } else if (each.do === 'swap') {
        if (!model.isActive(clock.nowMs)) continue
        await services.proxyOperator.replace(id, { note: 'swap' })
        model.restore(clock.nowMs)
        beganAt = clock.nowMs
      } else {
        await services.dedicatedUpkeep.release(100)
        if (!model.isHeld(clock.nowMs)) model.isGone = true
      }
      const { proxy, status } = await services.proxyOperator.show(id)
      expect([proxy.expiresAt, proxy.interruptedAt]).toEqual([model.expiresAt, model.interruptedAt])
      const shown = model.isActive(clock.nowMs) ? 'active' : model.isHeld(clock.nowMs) ? 'expired' : 'gone'
      expect(status).toBe(shown)
      const all = { before: id + 1, limit: 1, status: '' as const, country: '', ipv: 0, comment: '' }
      const listed = await dedicated.list(customer, { ...all, expiresBefore: Number.MAX_SAFE_INTEGER })
      expect(listed[0]?.id === id).toBe(shown !== 'gone')
    }
    await outages.restore(customer, [id], extend)
    clock.advance(200 * dayMs)
    await services.dedicatedUpkeep.release(100)
    await services.stock.endRest(1000)
  }

  test('random outages extend the term by each lost millisecond once, and verify finds nothing', async () => {
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), runSteps), {
      numRuns: scaled(engine === 'sqlite' ? 40 : 12),
    })
    expect(await findingsOf(shop.services)).toEqual([])
  })
})
