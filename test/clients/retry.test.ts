import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { NoAnswerError, RefusalError } from '../../packages/client/src/errors.ts'
import { pauseMs, readRetryAfter, usualLimits } from '../../packages/client/src/retry.ts'
import { writeClientFiles } from '../../tools/clients/files.ts'
import { type Service, startService } from '../harness/service.ts'
import { type Fate, UnreliableProxy } from '../harness/unreliable-proxy.ts'

// The client's table is generated, and may be missing before this.
await writeClientFiles()
const { createClient } = await import('../../packages/client/src/client.ts')

describe('repetition of requests by the TypeScript client', () => {
  let service: Service
  let fates: Fate[] = []
  let proxy: UnreliableProxy
  let url: string
  const retry = { firstPauseMs: 1, maxPauseMs: 1 }
  beforeAll(async () => {
    service = await startService('sqlite')
    proxy = new UnreliableProxy(Number(new URL(service.url).port), () => fates.shift() ?? 'pass')
    url = await proxy.open()
  })
  afterAll(async () => {
    await proxy.close()
    await service.stop()
  })
  const failed = async (call: Promise<unknown>): Promise<unknown> => {
    try {
      return await call
    } catch (error) {
      return error
    }
  }

  test('a POST without a key is sent once if its answer is lost, and a read is sent again', async () => {
    const client = createClient({ url, token: service.token, retry })
    fates = ['lose answer']
    const lost = await failed(client.referral.makeCode())
    expect(lost).toBeInstanceOf(NoAnswerError)
    expect((lost as NoAnswerError).facts).toMatchObject({ operation: 'referral.makeCode', attempts: 1 })
    expect((lost as NoAnswerError).message).toBe(`referral.makeCode: no connection to ${url} (attempts: 1)`)
    fates = ['lose answer', 'cut answer', 'overload', 'bad gateway']
    expect(await client.balance.get()).toMatchObject({ balance_rub: expect.any(Number) })
    expect(proxy.fates).toHaveLength(6)
  })

  test('a call ends after its attempts, and names the key under which it can be repeated', async () => {
    const client = createClient({ url, token: service.token, retry: { ...retry, attempts: 3 } })
    const before = await client.balance.get()
    fates = ['lose answer', 'lose answer', 'lose answer']
    const order = { pool_type: 'datacenter', gb: 1 }
    const lost = await failed(client.premium.buyTraffic(order))
    expect(lost).toBeInstanceOf(NoAnswerError)
    const { attempts, idempotencyKey } = (lost as NoAnswerError).facts
    expect(attempts).toBe(3)
    const bought = await client.premium.buyTraffic(order, { idempotencyKey })
    const after = await client.balance.get()
    expect(after.balance_rub).toBe(before.balance_rub - bought.price_rub)
  })

  test('a Retry-After beyond the limit of the call is answered with the refusal at once', async () => {
    const limited = await startService('sqlite', { TURNPIKE_RATE_CHARGES: '1' })
    try {
      const client = createClient({ url: limited.url, token: limited.token, retry: { totalMs: 500 } })
      const order = { pool_type: 'datacenter', gb: 1 }
      const outcomes = [await failed(client.premium.buyTraffic(order)), await failed(client.premium.buyTraffic(order))]
      const refused = outcomes[1] as RefusalError
      expect(refused).toBeInstanceOf(RefusalError)
      expect(refused.reason).toBe('rate_limited')
      expect(refused.facts.attempts).toBe(1)
    } finally {
      await limited.stop()
    }
  })

  test('pauses double from 250 ms to 8 s, half of each is random, and Retry-After comes first', () => {
    const pauses = (chance: number) => [1, 2, 6, 20].map((attempt) => pauseMs({}, attempt, usualLimits, chance))
    expect(pauses(0)).toEqual([125, 250, 4000, 4000])
    expect(pauses(1)).toEqual([250, 500, 8000, 8000])
    expect(pauseMs({ retryAfterMs: 3000 }, 1, usualLimits, 0)).toBe(3062.5)
    expect(readRetryAfter('7', 0)).toBe(7000)
    expect(readRetryAfter('Thu, 01 Jan 1970 00:00:09 GMT', 2000)).toBe(7000)
    expect(readRetryAfter('soon', 0)).toBeUndefined()
  })

  test('a token or an address that no request could carry is refused without being shown', () => {
    const shown = (options: { url: string; token: string }) => {
      try {
        createClient(options)
        return ''
      } catch (error) {
        return String(error)
      }
    }
    expect(shown({ url, token: 'tp_test_secret\n' })).toMatch(/^TypeError: the token (?!.*secret)/)
    expect(shown({ url: 'http://user:secret@127.0.0.1', token: 'x' })).toMatch(/^TypeError: url is (?!.*secret)/)
  })
})
