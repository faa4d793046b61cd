import { afterEach, describe, expect, setSystemTime, test } from 'bun:test'
import { createCall } from '../../src/adapters/payments/calling.ts'
import type { PaymentId } from '../../src/core/ids.ts'
import { kopecks } from '../../src/core/money.ts'
import { type CallPurpose, ProviderUnavailable } from '../../src/domains/payments/ports.ts'
import { HandClock } from '../harness/clock.ts'
import { openTestDatabase } from '../harness/database.ts'
import { wire } from '../harness/wired.ts'
import { introduce } from './shop.ts'

/** The number of calls until the limit refuses one. */
async function countPassing(call: () => Promise<unknown>): Promise<number> {
  for (let count = 0; ; count += 1) {
    try {
      await call()
    } catch (error) {
      if (error instanceof ProviderUnavailable && error.message.includes('too much')) return count
      throw error
    }
  }
}

describe('call limit of a provider', () => {
  afterEach(() => void setSystemTime())

  test('polls leave 100 of 200 calls, and opening payments leaves 40 of these to notifications', async () => {
    const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => Response.json({}) })
    const clock = new HandClock()
    const call = createCall('somebody', clock.read)
    const passing = (purpose: CallPurpose) => countPassing(() => call(server.url.href, { purpose }))
    try {
      expect([await passing('poll'), await passing('open'), await passing('notify')]).toEqual([100, 60, 40])
      clock.advance(1000)
      expect([await passing('poll'), await passing('open'), await passing('notify')]).toEqual([0, 0, 20])
      clock.advance(10_000)
      expect([await passing('poll'), await passing('open')]).toEqual([100, 60])
    } finally {
      await server.stop(true)
    }
  })

  test.each(['yookassa', 'crypto_pay', 'platega'] as const)(
    '%s opens payments and confirms notifications after polls and lists have used their share',
    async (provider) => {
      const opened = await openTestDatabase('sqlite')
      const services = wire(opened.db, new HandClock())
      const { side, method } = await introduce(services, provider)
      // The limit refills by the clock of the process, which does not move here.
      setSystemTime(new Date('2026-11-17T00:00:00Z'))
      try {
        const { connection } = await services.providers.load(provider)
        if (!connection) throw new Error('the provider has no connection')
        const of = {
          payment: 'pay_00000000000000000000000000' as PaymentId,
          method,
          amount: kopecks(30_000n),
          description: 'a top-up',
          returnUrl: 'https://shop.example/',
          email: undefined,
          payer: 'a payer',
          expiresAt: Date.now() + 3_600_000,
        }
        const { providerId } = await connection.open(of)
        expect(await countPassing(() => connection.find(providerId))).toBe(99)
        if (provider !== 'platega') {
          expect(await countPassing(() => connection.findOpened(of.payment, Date.now()))).toBe(0)
        }
        expect(await countPassing(() => connection.open(of))).toBe(60)
        expect(await countPassing(() => connection.find(providerId, 'notify'))).toBe(40)
      } finally {
        await side.stop()
        await opened.close()
      }
    },
  )
})
