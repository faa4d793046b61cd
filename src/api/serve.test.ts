import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Service, startService } from '../../test/harness/service.ts'
import { readPrefix } from '../kernel/address.ts'

const locked = async (service: Service, ...sources: string[]) => {
  const { customer } = await service.newCustomer()
  const allowedFrom = sources.flatMap((text) => readPrefix(text) ?? [])
  return (await service.services.customers.issueToken(customer, { name: 'locked', allowedFrom })).text
}

describe('where a request comes from', () => {
  let plain: Service
  let behind: Service
  beforeAll(async () => {
    plain = await startService('sqlite')
    behind = await startService('sqlite', { TURNPIKE_TRUSTED_PROXIES: '127.0.0.0/8, 10.0.0.0/8' })
  })
  afterAll(async () => {
    await plain.stop()
    await behind.stop()
  })
  const statusFrom = async (service: Service, token: string, forwarded: string | undefined) =>
    (
      await service.get('/balance', {
        token,
        ...(forwarded !== undefined && { headers: { 'X-Forwarded-For': forwarded } }),
      })
    ).status

  test('without trusted proxies it is the other end of the socket, whatever a header claims', async () => {
    const token = await locked(plain, '203.0.113.7')
    for (const claim of [undefined, '203.0.113.7', '203.0.113.7, 127.0.0.1']) {
      expect(await statusFrom(plain, token, claim)).toBe(403)
    }
    expect(await statusFrom(plain, await locked(plain, '127.0.0.1'), '203.0.113.7')).toBe(200)
  })

  test('behind trusted proxies it is the last address that is not one of them', async () => {
    const token = await locked(behind, '203.0.113.7')
    for (const claim of [
      '203.0.113.7',
      '203.0.113.7, 10.1.2.3',
      '198.51.100.1, 203.0.113.7',
      '203.0.113.7 , 10.1.2.3,10.9.9.9',
      '::ffff:203.0.113.7',
    ]) {
      expect(await statusFrom(behind, token, claim)).toBe(200)
    }
  })

  test('what a client wrote into the header itself is not believed', async () => {
    const token = await locked(behind, '203.0.113.7')
    for (const claim of [
      '203.0.113.7, 198.51.100.1',
      '203.0.113.7, 198.51.100.1, 10.1.2.3',
      '203.0.113.7, nonsense',
      '203.0.113.7,',
      '',
      'unknown',
      '203.0.113.7:443',
      '203.0.113.07',
    ]) {
      expect(await statusFrom(behind, token, claim)).toBe(403)
    }
  })

  test('a request straight from a trusted proxy is its own', async () => {
    expect(await statusFrom(behind, await locked(behind, '127.0.0.1'), undefined)).toBe(200)
  })
})

test('a fault is shown as internal_error and no more, and the log tells the rest under the same request id', async () => {
  const service = await startService('sqlite')
  await service.services.db.transact((tx) => tx.run('ALTER TABLE accounts RENAME TO accounts_gone'))
  const answer = await service.get('/balance')
  expect([answer.status, answer.error.code, answer.error.details]).toEqual([500, 'internal_error', null])
  expect(answer.text).not.toMatch(/accounts|sqlite|\.ts|stack/i)
  const line = service.log.find((each) => each.includes(answer.headers.get('x-request-id') ?? 'none'))
  expect(line).toContain('no such table')
  await service.stop()
})
