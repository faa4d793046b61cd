import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'

const asked = 80

/** A limit counts requests, and not what they weigh. */
describe.each([...enginesOf('sqlite')])('heavy requests of one customer, on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(() => service.stop())

  test('wait for one another, and nobody else for them', async () => {
    const [heavy, other] = [await service.newCustomer(1_000_000n), await service.newCustomer(1000n)]
    const ask = (token: string, path: string) =>
      fetch(`${service.url}/api/v1${path}`, { headers: { authorization: `Bearer ${token}` } }).then(
        async (response) => {
          await response.arrayBuffer()
          return response.status
        },
      )
    const bought = await fetch(`${service.url}/api/v1/dedicated/buy`, {
      method: 'POST',
      headers: { authorization: `Bearer ${heavy.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ country_code: 'DE', period: 30, count: 200, ipv: 6 }),
    })
    expect(bought.status).toBe(200)
    let answered = 0
    const flood = Array.from({ length: asked }, () =>
      ask(heavy.token, '/dedicated/export?format=json').then((status) => {
        answered += 1
        return status
      }),
    )
    expect(await ask(other.token, '/balance')).toBe(200)
    expect(answered).toBeLessThan(asked / 2)
    expect(new Set(await Promise.all(flood))).toEqual(new Set([200]))
  })
})
