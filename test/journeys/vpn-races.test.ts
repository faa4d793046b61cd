import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { engines } from '../harness/database.ts'
import { scaled } from '../harness/scale.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/vpn.ts'

describe.each([...engines])('concurrent VPN requests on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(async () => {
    expect(await findingsOf(service)).toEqual([])
    await service.stop()
  })

  const concurrently = <Result>(count: number, job: (index: number) => Promise<Result>): Promise<Result[]> =>
    Promise.all(Array.from({ length: count }, (_, index) => job(index)))

  test('1 of 12 concurrent requests gets the last device slot', async () => {
    for (let round = 0; round < scaled(30); round += 1) {
      const { token } = await service.newCustomer(1000n)
      await service.post('/vpn/buy', { period: 1 }, { token })
      for (let device = 2; device <= 4; device += 1) await service.post('/vpn/devices', {}, { token })
      const answers = await concurrently(12, () => service.post('/vpn/devices', {}, { token }))
      expect(answers.filter((each) => each.status === 200)).toHaveLength(1)
      expect(answers.filter((each) => each.status === 409)).toHaveLength(11)
      expect((await service.get('/vpn/info', { token })).data.devices).toHaveLength(5)
    }
  })

  test('24 concurrent renewals add 24 months', async () => {
    const { token } = await service.newCustomer(100_000n)
    await service.post('/vpn/buy', { period: 12 }, { token })
    const answers = await concurrently(24, () => service.post('/vpn/renew', { period: 1 }, { token }))
    expect(answers.every((each) => each.status === 200)).toBe(true)
    expect(new Set(answers.map((each) => each.data.expires_at)).size).toBe(24)
    const { data } = await service.get('/vpn/info', { token })
    expect(data.expires_at).toBe('2029-01-15T12:00:00.000Z')
    expect((await service.get('/balance', { token })).data.balance_rub).toBe(100_000 - 2690 - 24 * 299)
  })

  test('7 of 40 concurrent purchases succeed with money for seven', async () => {
    const affordable = 7
    const { token } = await service.newCustomer(BigInt(299 * affordable + 298))
    const answers = await concurrently(40, () => service.post('/vpn/buy', { period: 1 }, { token }))
    expect(answers.filter((each) => each.status === 200)).toHaveLength(affordable)
    expect(answers.filter((each) => each.status === 402)).toHaveLength(40 - affordable)
    expect((await service.get('/balance', { token })).data.balance_rub).toBe(298)
    expect((await service.get('/vpn/info', { token })).data.items).toHaveLength(affordable)
  })

  test('20 concurrent requests with one key buy one subscription', async () => {
    const { token } = await service.newCustomer(10_000n)
    const answers = await concurrently(20, () => service.post('/vpn/buy', { period: 1 }, { token, key: 'same' }))
    const done = answers.filter((each) => each.status === 200)
    expect(new Set(done.map((each) => each.text)).size).toBe(1)
    expect(answers.every((each) => each.status === 200 || each.error.code === 'request_in_progress')).toBe(true)
    expect((await service.get('/balance', { token })).data.balance_rub).toBe(10_000 - 299)
  })

  test('a concurrent deletion and renewal leave no subscription and the whole balance', async () => {
    for (let round = 0; round < scaled(30); round += 1) {
      const { token } = await service.newCustomer(10_000n)
      const { uuid } = (await service.post('/vpn/buy', { period: 1 }, { token })).data
      await Promise.all([
        service.post('/vpn/renew', { uuid, period: 1 }, { token }),
        service.post('/vpn/delete', { uuid }, { token }),
        service.post('/vpn/devices', { uuid }, { token }),
        service.post('/vpn/delete', { uuid }, { token }),
      ])
      expect((await service.get('/vpn/info', { token })).data.status).toBe('NONE')
      expect((await service.get('/balance', { token })).data.balance_rub).toBe(10_000)
    }
  })

  test('1 of 4 concurrent purchases with one public key succeeds, and 3 answer conflict', async () => {
    for (let round = 0; round < scaled(30); round += 1) {
      const key = new Uint8Array(crypto.getRandomValues(new Uint8Array(32)))
      key[31] = (key[31] ?? 0) & 63
      const buyers = await concurrently(4, () => service.newCustomer(1000n))
      const answers = await Promise.all(
        buyers.map(({ token }) => service.post('/vpn/buy', { period: 1, public_key: key.toBase64() }, { token })),
      )
      expect(answers.filter((each) => each.status === 200)).toHaveLength(1)
      expect(answers.filter((each) => each.error?.code === 'conflict')).toHaveLength(3)
    }
  })
})
