import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { noStalls, runningSince } from '../../src/core/stall-monitor.ts'
import { statusOf } from '../../src/domains/premium/exits/rules.ts'
import shippedCatalogue from '../../src/domains/pricing/catalogue.yaml'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'

describe.each([...enginesOf('sqlite')])('availability of premium traffic in production on %s', (engine) => {
  let service: Service
  let token: string
  let exit: string
  let gateway: string
  beforeAll(async () => {
    service = await startService(engine, { TURNPIKE_SANDBOX: 'off', TURNPIKE_GATEWAY_HOST: 'gate.example.net' })
    const { db, fleet, pricing } = service.services
    await db.transact((tx) => pricing.apply(tx, shippedCatalogue))
    gateway = (await db.transact((tx) => fleet.add(tx, { kind: 'gateway', name: 'gate-1', location: 'test' }))).id
    ;({ token } = await service.newCustomer(10_000n))
  })
  afterAll(() => service.stop())

  const buy = () => service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 1 }, { token })
  const generate = () =>
    service.post('/premium/proxies/generate', { pool_type: 'residential', countries: ['DE'], quantity: 1 }, { token })
  const report = (isUp: boolean, node = 'nod_1', of = exit) =>
    service.services.premium.exits.takeReports(node, [{ exit: of, isUp, sinceAt: service.clock.nowMs, reason: 'x' }])
  const isOffered = async () =>
    (await service.get('/premium/traffic/quote?pool_type=residential&gb=1', { token })).data.available
  const balance = async () => (await service.get('/balance', { token })).data.balance_rub

  async function expectNothingSold(): Promise<void> {
    const before = await balance()
    const refused = await buy()
    expect(refused.status).toBe(503)
    expect(refused.error).toMatchObject({ code: 'unavailable', details: { charged: false } })
    expect((await generate()).status).toBe(400)
    expect(await isOffered()).toBe(false)
    expect(await balance()).toBe(before)
  }

  test('premium traffic is not sold for a pool without exits or with untested exits', async () => {
    await expectNothingSold()
    const location = { country: 'DE', state: '', city: '', zip: '', asn: null }
    const upstream = { pool: 'residential', kind: 'http' as const, host: 'up.example.net', port: 8080 }
    exit = (await service.services.premium.exits.addOne({ ...upstream, ...location, credentials: null })).id
    await expectNothingSold()
  })

  test('premium traffic is sold for 30 s after a gateway’s last report that an exit is up', async () => {
    await report(true)
    service.clock.advance(1001)
    expect(await isOffered()).toBe(true)
    expect((await buy()).status).toBe(200)
    expect((await generate()).status).toBe(200)
    service.clock.advance(30_000 - 1001)
    expect((await buy()).status).toBe(200)
    service.clock.advance(1001)
    await expectNothingSold()
  })

  test('premium traffic is not sold once the last exit is down', async () => {
    await report(true)
    service.clock.advance(1001)
    expect((await buy()).status).toBe(200)
    await report(false)
    service.clock.advance(1001)
    await expectNothingSold()
  })

  test.each([
    ['not sold while one gateway reports up and two report down', false, [true, false, false], false],
    ['sold while one gateway reports down and two report up', false, [false, true, true], true],
    ['sold while one of two gateways reports up', false, [true, false], true],
    ['not sold while the gateway that the exit belongs to reports down', true, [false, true, true], false],
    ['sold while the gateway that the exit belongs to reports up', true, [true, false, false], true],
  ])('premium traffic is %s', async (_, isOwned, reports, sold) => {
    const node = isOwned ? gateway : null
    const { exits } = service.services.premium
    const location = { country: 'DE', state: '', city: '', zip: '', asn: null }
    const upstream = { pool: 'datacenter', kind: 'http' as const, host: 'up.example.net', port: 8080 }
    const { id } = await exits.addOne({ ...upstream, ...location, node, credentials: null })
    for (const [at, isUp] of reports.entries()) await report(isUp, at === 0 ? gateway : `nod_${at + 1}`, id)
    service.clock.advance(1001)
    expect(await exits.isServed('datacenter')).toBe(sold)
    const pools = await exits.overview()
    expect(pools.find((each) => each.pool === 'datacenter')?.serving).toBe(sold ? 1 : 0)
    const latest = await exits.reports([id])
    const since = runningSince({ clock: () => service.clock.nowMs, stalls: noStalls })
    expect(statusOf({ node, drainedAt: null }, latest, since)).toBe(sold ? 'serving' : 'down')
    await exits.drain(id, true)
  })
})
