import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createActions } from '../../src/app/shop/admin.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { until } from '../harness/until.ts'

const requestCount = 80
/** How many ordinary requests of one caller run at once. */
const atOnce = 8

/** The rate limit counts requests and not their cost. */
describe.each([...enginesOf('sqlite')])('heavy requests of one customer, on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(() => service.stop())

  test('the shop runs 80 exports of one customer 1 at a time, and serves another customer before any of them ends', async () => {
    const [heavy, other] = [await service.newCustomer(1_000_000n), await service.newCustomer(1000n)]
    const ask = (token: string, path: string) =>
      fetch(`${service.url}/api/v1${path}`, { headers: { authorization: `Bearer ${token}` } }).then(
        async (response) => {
          await response.arrayBuffer()
          return response.status
        },
      )
    const bought = await service.post(
      '/dedicated/buy',
      { country_code: 'DE', period: 30, count: 200, ipv: 6 },
      { token: heavy.token },
    )
    expect(bought.status).toBe(200)
    // Every export waits inside the shop until the test releases it.
    const { dedicated } = service.services
    const pagesOf = dedicated.pagesOf.bind(dedicated)
    const { promise: mayEnd, resolve: letEnd } = Promise.withResolvers<void>()
    let [inside, maxInside, answered] = [0, 0, 0]
    dedicated.pagesOf = async function* (...given) {
      inside += 1
      maxInside = Math.max(maxInside, inside)
      await mayEnd
      inside -= 1
      yield* pagesOf(...given)
    }
    try {
      const flood = Array.from({ length: requestCount }, () =>
        ask(heavy.token, '/dedicated/export?format=json').finally(() => {
          answered += 1
        }),
      )
      await until(() => inside === 1)
      await service.untilPending(requestCount)
      expect(await ask(other.token, '/balance')).toBe(200)
      expect(answered).toBe(0)
      letEnd()
      expect(new Set(await Promise.all(flood))).toEqual(new Set([200]))
      expect(maxInside).toBe(1)
    } finally {
      letEnd()
      dedicated.pagesOf = pagesOf
    }
  })

  test('the shop runs 30 searches of one operator 8 at a time, and serves another operator before any of them ends', async () => {
    const { identities, operators } = service.services
    const tokenOf = async (name: string) => {
      await createActions(service.services).addOperator(name, 'reader')
      return (await operators.issueToken(name, { name: 't', expiresAt: null })).text
    }
    const [heavy, other] = [await tokenOf('heavy'), await tokenOf('other')]
    const ask = async (token: string, path: string) =>
      (await fetch(`${service.url}/admin/v1${path}`, { headers: { authorization: `Bearer ${token}` } })).status
    const ownersByPrefix = identities.ownersByPrefix.bind(identities)
    const { promise: mayEnd, resolve: letEnd } = Promise.withResolvers<void>()
    let [inside, maxInside] = [0, 0]
    identities.ownersByPrefix = async (...given) => {
      inside += 1
      maxInside = Math.max(maxInside, inside)
      await mayEnd
      inside -= 1
      return ownersByPrefix(...given)
    }
    try {
      const flood = Array.from({ length: 30 }, () => ask(heavy, '/search?q=anna'))
      await until(() => inside === atOnce)
      await service.untilPending(30)
      expect(await ask(other, '/nodes')).toBe(200)
      expect(inside).toBe(atOnce)
      letEnd()
      expect(new Set(await Promise.all(flood))).toEqual(new Set([200]))
      expect(maxInside).toBe(atOnce)
    } finally {
      letEnd()
      identities.ownersByPrefix = ownersByPrefix
    }
  })
})
