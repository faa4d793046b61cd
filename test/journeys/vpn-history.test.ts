import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { enginesOf } from '../harness/database.ts'
import { scaled } from '../harness/scale.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf, report } from '../harness/vpn.ts'

const dayMs = 86_400_000
const prices: Record<number, number> = { 1: 29_900, 3: 79_900, 6: 149_000, 12: 269_000 }
const maxDevices = 5

type Term = { price: number; startsAt: number; endsAt: number }
type Sub = {
  uuid: string
  ends: number
  day: number
  devices: string[]
  auto: number | null
  after: number
  terms: Term[]
  bytes: number
}
/** Reference model: one customer’s kopecks and subscriptions, in memory. */
type Model = { kopecks: number; subs: Sub[]; boots: number }

type Action =
  | { do: 'buy'; months: number; auto: boolean }
  | { do: 'renew'; which: number; months: number }
  | { do: 'add' | 'delete'; which: number }
  | { do: 'remove'; which: number; device: number }
  | { do: 'usage'; which: number; device: number; rx: number; tx: number }
  | { do: 'auto'; which: number; months: number | null }
  | { do: 'pass'; days: number }
  | { do: 'jobs' }

const which = fc.nat(5)
const months = fc.constantFrom(1, 3, 6, 12)
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('buy' as const), months, auto: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('renew' as const), which, months }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('add' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), which, device: which }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('usage' as const),
      which,
      device: which,
      rx: fc.nat(1e12),
      tx: fc.nat(1e12),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('auto' as const), which, months: fc.option(months) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pass' as const), days: fc.integer({ min: 1, max: 45 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('jobs' as const) }) },
)

/** Adds months; a day that the month lacks becomes its last day. */
function addMonths(fromMs: number, count: number, day: number): number {
  const from = new Date(fromMs)
  const first = Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + count, 1)
  const lastDay = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + count + 1, 0)).getUTCDate()
  return first + (Math.min(day, lastDay) - 1) * dayMs + (fromMs % dayMs)
}

function extend(sub: Sub, count: number, nowMs: number): void {
  if (sub.ends < nowMs) [sub.ends, sub.day] = [nowMs, new Date(nowMs).getUTCDate()]
  const endsAt = addMonths(sub.ends, count, sub.day)
  sub.terms.push({ price: prices[count] ?? 0, startsAt: sub.ends, endsAt })
  sub.ends = endsAt
  sub.after = 0
}

const refund = (sub: Sub, nowMs: number): number => {
  let sum = 0
  for (const { price, startsAt, endsAt } of sub.terms) {
    if (endsAt <= nowMs) continue
    sum += Number((BigInt(price) * BigInt(endsAt - Math.max(startsAt, nowMs))) / BigInt(endsAt - startsAt))
  }
  return sum
}

describe.each([...enginesOf('postgres')])('random histories of VPN subscriptions on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(() => service.stop())

  const now = () => service.clock.nowMs

  async function runJobs(model: Model): Promise<void> {
    const { vpn } = service.services
    while ((await vpn.renewDue()).more);
    while ((await vpn.sweep()) > 0);
    const due = model.subs.filter((sub) => sub.auto !== null && sub.ends - dayMs <= now() && sub.after <= now())
    for (const sub of due.toSorted((a, b) => a.ends - b.ends || (a.uuid < b.uuid ? -1 : 1))) {
      const price = prices[sub.auto ?? 0] ?? 0
      if (price > model.kopecks) {
        sub.after = now() + 3_600_000
        continue
      }
      model.kopecks -= price
      extend(sub, sub.auto ?? 0, now())
      if (sub.devices.length === 0) sub.devices = ['?']
    }
    for (const sub of model.subs) if (sub.ends + 30 * dayMs <= now()) [sub.devices, sub.auto] = [[], null]
  }

  async function act(step: Action, model: Model, token: string): Promise<void> {
    const post = (path: string, body: unknown) => service.post(path, body, { token })
    if (step.do === 'pass') return service.clock.advance(step.days * dayMs + 12_345)
    if (step.do === 'jobs') return runJobs(model)
    if (step.do === 'buy') {
      const answer = await post('/vpn/buy', { period: step.months, auto_renew: step.auto })
      const price = prices[step.months] ?? 0
      expect(answer.status).toBe(price > model.kopecks ? 402 : 200)
      if (!answer.ok) return undefined
      model.kopecks -= price
      const auto = step.auto ? step.months : null
      const sub: Sub = {
        uuid: answer.data.uuid,
        ends: now(),
        day: new Date(now()).getUTCDate(),
        devices: [answer.data.device],
        auto,
        after: 0,
        terms: [],
        bytes: 0,
      }
      extend(sub, step.months, now())
      model.subs.push(sub)
      return undefined
    }
    const sub = model.subs[step.which % Math.max(1, model.subs.length)]
    if (!sub) return undefined
    const { uuid } = sub
    if (step.do === 'renew') {
      const answer = await post('/vpn/renew', { uuid, period: step.months })
      const price = prices[step.months] ?? 0
      const tooFar =
        addMonths(Math.max(sub.ends, now()), step.months, sub.day) > addMonths(now(), 240, new Date(now()).getUTCDate())
      expect(answer.status).toBe(tooFar ? 409 : price > model.kopecks ? 402 : 200)
      if (!answer.ok) return undefined
      model.kopecks -= price
      extend(sub, step.months, now())
      if (sub.devices.length === 0) sub.devices = [answer.data.device]
    } else if (step.do === 'add') {
      const answer = await post('/vpn/devices', { uuid })
      expect(answer.status).toBe(sub.ends <= now() || sub.devices.length >= maxDevices ? 409 : 200)
      if (answer.ok) sub.devices.push(answer.data.device.id)
    } else if (step.do === 'remove') {
      const device = sub.devices[step.device % Math.max(1, sub.devices.length)]
      if (!device?.startsWith('dev_')) return undefined
      expect((await post('/vpn/devices/remove', { uuid, device })).status).toBe(200)
      sub.devices = sub.devices.filter((each) => each !== device)
    } else if (step.do === 'usage') {
      const device = sub.devices[step.device % Math.max(1, sub.devices.length)]
      if (!device?.startsWith('dev_')) return undefined
      model.boots += 1
      // Each report is sent twice, and once more with half the counts.
      for (const part of [1, 1, 0.5]) {
        const counts = [{ device, rx: Math.floor(step.rx * part), tx: Math.floor(step.tx * part) }]
        await report(service, `${uuid} ${model.boots}`, counts)
      }
      sub.bytes += step.rx + step.tx
    } else if (step.do === 'auto') {
      const period = step.months === null ? {} : { period: step.months }
      expect((await post('/vpn/auto-renew', { uuid, enabled: step.months !== null, ...period })).status).toBe(200)
      ;[sub.auto, sub.after] = [step.months, 0]
    } else {
      const answer = await post('/vpn/delete', { uuid })
      expect(answer.data.refunded_rub).toBe(refund(sub, now()) / 100)
      model.kopecks += refund(sub, now())
      model.subs = model.subs.filter((each) => each !== sub)
    }
    return undefined
  }

  async function compare(model: Model, token: string): Promise<void> {
    const { items } = (await service.get('/vpn/info', { token })).data
    const seen = new Map<string, (typeof items)[number]>(items.map((each: { uuid: string }) => [each.uuid, each]))
    expect(seen.size).toBe(model.subs.length)
    for (const sub of model.subs) {
      const item = seen.get(sub.uuid)
      const status = sub.ends <= now() ? 'EXPIRED' : 'ACTIVE'
      expect(item).toMatchObject({ status, expires_at: new Date(sub.ends).toISOString() })
      expect(item.devices).toHaveLength(sub.devices.length)
      expect(item.limited_by).toEqual(sub.devices.length >= maxDevices ? ['devices'] : [])
      expect(item.traffic.rx_bytes + item.traffic.tx_bytes).toBe(sub.bytes)
      expect(item.auto_renew.period).toBe(sub.auto)
      // The model learns the id of a device that an automatic renewal added only now.
      sub.devices = item.devices.map((each: { id: string }) => each.id)
    }
    expect((await service.get('/balance', { token })).data.balance_rub).toBe(model.kopecks / 100)
  }

  test('random purchases, renewals, usage and time match a reference model; verify finds nothing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 30 }), async (steps) => {
        const { token } = await service.newCustomer(6000n)
        const model: Model = { kopecks: 600_000, subs: [], boots: 0 }
        for (const step of steps) {
          await act(step, model, token)
          await compare(model, token)
        }
      }),
      { numRuns: scaled(250), endOnFailure: true },
    )
    expect(await findingsOf(service)).toEqual([])
  })
})
