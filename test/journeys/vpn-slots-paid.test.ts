import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { engines } from '../harness/database.ts'
import { scaled } from '../harness/scale.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf, sellVpn } from '../harness/vpn.ts'

const plan = { months: { 1: 300 }, device_limit: 1, refund: 'none' }
const slots = { 1: 149, 2: 249 }
const dayMs = 86_400_000

const step = fc.oneof(
  fc.record({ do: fc.constant('increase' as const), count: fc.constantFrom(1, 2) }),
  fc.record({ do: fc.constant('renew' as const), sellsSlots: fc.boolean() }),
  fc.record({ do: fc.constant('pass' as const), days: fc.constantFrom(3, 20, 45) }),
)

/** Slots with the time for which they are paid. */
type Paid = { readonly from: number; readonly to: number; readonly count: number }

describe.each([...engines])('device slots that are paid for on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(async () => {
    expect(await findingsOf(service)).toEqual([])
    await service.stop()
  })

  test('the device limit is one and the slots whose time is paid, after any purchases, renewals and ends', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 9 }), async (steps) => {
        const { token } = await service.newCustomer(100_000n)
        const post = (path: string, body: unknown) => service.post(path, body, { token })
        const info = async () => (await service.get('/vpn/info', { token })).data
        await sellVpn(service, { ...plan, slots })
        await post('/vpn/buy', { period: 1 })
        let endsAt = Date.parse((await info()).expires_at)
        let paid: readonly Paid[] = []
        for (const each of steps) {
          const now = service.clock.nowMs
          if (each.do === 'pass') service.clock.advanceDays(each.days)
          else if (each.do === 'increase') {
            await sellVpn(service, { ...plan, slots })
            const { status } = await post('/vpn/devices/increase', { count: each.count })
            if (status === 200) paid = [...paid, { from: now, to: endsAt, count: each.count }]
          } else {
            await sellVpn(service, each.sellsSlots ? { ...plan, slots } : plan)
            const renewed = each.sellsSlots
              ? paid.reduce((sum, { to, count }) => (to === endsAt ? sum + count : sum), 0)
              : 0
            const from = Math.max(now, endsAt)
            expect((await post('/vpn/renew', { period: 1 })).status).toBe(200)
            endsAt = Date.parse((await info()).expires_at)
            if (renewed > 0) paid = [...paid, { from, to: endsAt, count: renewed }]
          }
          await service.services.vpn.endSlots(100)
          const at = service.clock.nowMs
          const running = paid.reduce((sum, { from, to, count }) => (from <= at && at < to ? sum + count : sum), 1)
          if (at < endsAt) expect((await info()).device_limit).toBe(running)
        }
      }),
      { numRuns: scaled(6) },
    )
    service.clock.advance(dayMs)
  })
})
