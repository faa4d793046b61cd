import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf, openSecondShop } from '../harness/vpn.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

describe.each([...enginesOf('postgres')])('automatic renewal of VPN subscriptions on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(async () => {
    expect(await findingsOf(service)).toEqual([])
    await service.stop()
  })

  async function addSubscriber(roubles = 1000n, body: Record<string, unknown> = { auto_renew: true }) {
    const { token, customer } = await service.newCustomer(roubles)
    const bought = (await service.post('/vpn/buy', { period: 1, ...body }, { token })).data
    return {
      token,
      customer,
      bought,
      info: async () => (await service.get('/vpn/info', { token })).data,
      balance: async () => (await service.get('/balance', { token })).data,
      /** Sets the clock to the end of the subscription plus the offset. */
      goTo: (offsetMs: number) => {
        service.clock.nowMs = Date.parse(bought.expires_at) + offsetMs
      },
    }
  }

  test('automatic renewal charges once, 24 h before the end, as spending of the token', async () => {
    const { info, balance, goTo, bought } = await addSubscriber()
    expect((await info()).auto_renew).toMatchObject({ enabled: true, period: 1, problem: null })
    goTo(-dayMs - 1)
    await service.services.vpn.renewDue()
    expect((await info()).expires_at).toBe(bought.expires_at)
    goTo(-dayMs)
    expect((await service.services.vpn.renewDue()).renewed).toBeGreaterThan(0)
    const after = await info()
    expect(Date.parse(after.expires_at)).toBeGreaterThan(Date.parse(bought.expires_at) + 27 * dayMs)
    await service.services.vpn.renewDue()
    expect((await info()).expires_at).toBe(after.expires_at)
    expect(await balance()).toEqual({ balance_rub: 1000 - 2 * 299, api_spent_rub: 2 * 299 })
  })

  test('three processes that renew at once renew each of 6 subscriptions once', async () => {
    const owners = await Promise.all(Array.from({ length: 6 }, () => addSubscriber()))
    owners[0]?.goTo(-hourMs)
    const others = [await openSecondShop(service), await openSecondShop(service)]
    try {
      const outcomes = await Promise.all([service, ...others].map(({ services }) => services.vpn.renewDue()))
      expect(outcomes.reduce((sum, each) => sum + each.renewed, 0)).toBe(6)
      for (const owner of owners) expect((await owner.balance()).balance_rub).toBe(1000 - 2 * 299)
    } finally {
      for (const other of others) await other.stop()
    }
  })

  test('a shop that was down past the end renews once, from now, and charges nothing for the gap', async () => {
    const { info, balance, goTo } = await addSubscriber(10_000n)
    goTo(20 * dayMs)
    await service.services.vpn.renewDue()
    await service.services.vpn.renewDue()
    const { expires_at: ends, status } = await info()
    expect(status).toBe('ACTIVE')
    expect(Date.parse(ends)).toBeLessThan(service.clock.nowMs + 32 * dayMs)
    expect((await balance()).balance_rub).toBe(10_000 - 2 * 299)
  })

  test('automatic renewal without money charges nothing, names the problem, and retries after 1 h', async () => {
    const { info, balance, goTo, customer, bought } = await addSubscriber(300n)
    goTo(-dayMs)
    const outcome = await service.services.vpn.renewDue()
    expect(outcome.refused).toBeGreaterThan(0)
    expect(await info()).toMatchObject({ expires_at: bought.expires_at, auto_renew: { problem: 'insufficient_funds' } })
    expect((await balance()).balance_rub).toBe(1)
    const { db, ledger } = service.services
    await db.transact((tx) => ledger.credit(tx, customer, 100_000n as never, 'operator', 'top-up'))
    await service.services.vpn.renewDue()
    expect((await info()).expires_at).toBe(bought.expires_at)
    service.clock.advance(hourMs)
    await service.services.vpn.renewDue()
    expect((await info()).auto_renew.problem).toBeNull()
    expect((await balance()).balance_rub).toBe(1001 - 299)
  })

  test('auto_renew.next_at is 24 h before the end, or 1 h after a failed attempt', async () => {
    const { info, token, goTo, bought } = await addSubscriber(300n, {})
    const next = async () => Date.parse((await info()).auto_renew.next_at)
    await service.post('/vpn/auto-renew', { enabled: true }, { token })
    expect(await next()).toBe(Date.parse(bought.expires_at) - dayMs)
    goTo(-hourMs)
    await service.services.vpn.renewDue()
    expect(await next()).toBe(service.clock.nowMs + hourMs)
  })

  test('automatic renewal does nothing while off, and uses the period it was turned on with', async () => {
    const { info, token, goTo, bought } = await addSubscriber(10_000n, {})
    goTo(-hourMs)
    await service.services.vpn.renewDue()
    expect((await info()).expires_at).toBe(bought.expires_at)
    const on = await service.post('/vpn/auto-renew', { enabled: true, period_months: 3 }, { token })
    expect(on.data.auto_renew).toMatchObject({ enabled: true, period: 3 })
    await service.services.vpn.renewDue()
    const renewed = (await info()).expires_at
    expect(Date.parse(renewed)).toBeGreaterThan(Date.parse(bought.expires_at) + 80 * dayMs)
    const off = await service.post('/vpn/auto-renew', { enabled: false }, { token })
    expect(off.data.auto_renew).toEqual({ enabled: false, period: null, next_at: null, problem: null })
  })

  test('automatic renewal charges no blocked customer and no disabled subscription', async () => {
    const [blocked, disabled] = [await addSubscriber(), await addSubscriber()]
    await service.services.setBlocked(blocked.customer, true)
    await service.services.vpn.setDisabled(disabled.bought.uuid, true)
    blocked.goTo(-hourMs)
    await service.services.vpn.renewDue()
    expect((await disabled.balance()).balance_rub).toBe(701)
    await service.services.setBlocked(blocked.customer, false)
    service.clock.advance(600)
    expect((await blocked.balance()).balance_rub).toBe(701)
    expect((await blocked.info()).auto_renew.problem).toBe('forbidden')
  })

  test('sweep deletes devices and keys 30 days after the end, and a renewal adds a new device', async () => {
    const { info, goTo, token, bought } = await addSubscriber(10_000n, {})
    goTo(29 * dayMs)
    while ((await service.services.vpn.sweep()) > 0);
    expect((await info()).devices).toHaveLength(1)
    goTo(30 * dayMs)
    while ((await service.services.vpn.sweep()) > 0);
    expect(await info()).toMatchObject({ status: 'EXPIRED', devices: [] })
    const { db } = service.services
    expect(
      await db.all(
        'SELECT id FROM vpn_peers WHERE subscription_uuid = $1 AND (private_key IS NOT NULL OR access_keys IS NOT NULL)',
        [bought.uuid],
      ),
    ).toEqual([])
    const renewed = (await service.post('/vpn/renew', { period: 1 }, { token })).data
    expect(renewed.uuid).toBe(bought.uuid)
    expect(renewed.config).toContain('PrivateKey')
    expect(renewed.config).not.toBe(bought.config)
    expect((await info()).devices).toHaveLength(1)
  })
})
