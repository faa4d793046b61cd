import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { kopecks } from '../../src/core/money.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/vpn.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Automatic renewals count as spending of the token that set them. */
describe.each([...enginesOf('sqlite')])('the cap of a token and automatic renewal on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(async () => {
    expect(await findingsOf(service)).toEqual([])
    await service.stop()
  })

  async function newCustomer(capRoubles: bigint) {
    const { customer, token } = await service.newCustomer(10_000n)
    const cap = kopecks(capRoubles * 100n)
    const { text, token: issued } = await service.services.customers.issueToken(customer, { name: 'capped', cap })
    return {
      customer,
      token,
      capped: text,
      revoke: () => service.services.customers.revokeToken(issued.id),
      balance: async () => (await service.get('/balance', { token })).data.balance_rub as number,
    }
  }
  /** Advances 62 days and runs the renewals of each day. */
  async function letTimePass() {
    for (let day = 0; day < 62; day += 1) {
      service.clock.advance(dayMs)
      await service.services.dedicatedUpkeep.renew(200)
      await service.services.vpn.renewDue()
    }
  }
  const buyProxy = async (token: string) => {
    const bought = await service.post('/dedicated/buy', { country_code: 'DE', period: 7, count: 1, ipv: 4 }, { token })
    return { id: bought.data.proxies[0].id as number, price: bought.data.price_rub as number }
  }

  test('a token with a cap of 1 rouble renews neither a proxy nor a VPN that it set to renew', async () => {
    const { token, capped, balance } = await newCustomer(1n)
    const { id } = await buyProxy(token)
    await service.post('/vpn/buy', { period: 1 }, { token })
    const before = await balance()
    expect((await service.post('/dedicated/auto-renew', { ids: [id], period: 7 }, { token: capped })).status).toBe(200)
    expect((await service.post('/vpn/auto-renew', { enabled: true }, { token: capped })).status).toBe(200)
    await letTimePass()
    expect(await balance()).toBe(before)
    expect((await service.get('/vpn/info', { token })).data.auto_renew.problem).toBe('forbidden')
  })

  test('a subscription bought with auto_renew renews within the 700 roubles of its token’s cap, once', async () => {
    const { token, capped, balance } = await newCustomer(700n)
    expect((await service.post('/vpn/buy', { period: 1, auto_renew: true }, { token: capped })).status).toBe(200)
    await letTimePass()
    await letTimePass()
    expect(await balance()).toBe(10_000 - 2 * 299)
    expect((await service.get('/balance', { token })).data.api_spent_rub).toBe(2 * 299)
    // The token itself has only the rest of the cap.
    expect((await service.post('/vpn/renew', { period: 1 }, { token: capped })).status).toBe(403)
  })

  test('the token that set automatic renewal last decides whose cap counts', async () => {
    const { token, capped, balance } = await newCustomer(1n)
    const { id } = await buyProxy(token)
    for (const setter of [capped, token]) {
      await service.post('/dedicated/auto-renew', { ids: [id], period: 7 }, { token: setter })
    }
    const before = await balance()
    await letTimePass()
    expect(await balance()).toBeLessThan(before)
    expect((await service.get('/dedicated/list', { token })).data.proxies[0].id).toBe(id)
    await service.post('/dedicated/auto-renew', { ids: [id], period: null }, { token })
  })

  test('renewals set by a revoked token continue within its cap', async () => {
    const { capped, revoke, balance } = await newCustomer(700n)
    expect((await service.post('/vpn/buy', { period: 1, auto_renew: true }, { token: capped })).status).toBe(200)
    await revoke()
    await letTimePass()
    await letTimePass()
    expect(await balance()).toBe(10_000 - 2 * 299)
  })
})
