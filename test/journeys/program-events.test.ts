import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { EventWatch, maxWaitsOfCustomer } from '../../src/api/customer/events/watch.ts'
import type { CustomerId } from '../../src/core/ids.ts'
import { kopecks } from '../../src/core/money.ts'
import { sellInCountries } from '../harness/countries.ts'
import { engines, enginesOf } from '../harness/database.ts'
import { HandTiming, passing } from '../harness/hand-timing.ts'
import { openPremiumShop, pool } from '../harness/premium.ts'
import { prolongProxies } from '../harness/proxies.ts'
import { type Service, startService } from '../harness/service.ts'
import { openThingsShop, type ThingsShop } from '../harness/things-shop.ts'
import { report } from '../harness/vpn.ts'
import { addCustomer, buy } from '../harness/wired.ts'

const dayMs = 86_400_000

describe.each([...engines])('events of the ends of proxies on %s', (engine) => {
  const here = sellInCountries(engine, (number) => `10.3.${number}.0/29`)
  const announce = async () => {
    // Two shops that run the job at the same time.
    await Promise.all([1, 2].map(() => here.floor.services.dedicatedUpkeep.announce(2)))
    while ((await here.floor.services.dedicatedUpkeep.announce(2)) >= 2);
  }
  const told = async () => {
    const events = await here.events()
    return events.map(({ type, data }) => [type, data['proxy_id'], ...('days' in data ? [data['days']] : [])])
  }

  test('5 proxies get one event 7, 3 and 1 days before the end and one at the end, also from two shops', async () => {
    const { clock } = here.floor
    await announce()
    const { proxies } = await here.buy(5, 14)
    const ids = proxies.map(({ id }) => id)
    const at = async (leftMs: number) => {
      clock.nowMs = (proxies[0]?.expiresAt ?? 0) - leftMs
      await announce()
      await announce()
    }
    const of = (type: string, ...more: number[]) => ids.map((id) => [type, id, ...more])
    await at(7 * dayMs + 1)
    expect(await told()).toEqual([])
    await at(7 * dayMs)
    expect(await told()).toEqual(of('proxy.expiring', 7))
    await at(3 * dayMs)
    await at(dayMs)
    await at(1)
    expect((await told()).slice(5)).toEqual([...of('proxy.expiring', 3), ...of('proxy.expiring', 1)])
    await at(0)
    await at(-dayMs)
    expect((await told()).slice(15)).toEqual(of('proxy.expired'))
  })

  test('a proxy bought for 7 days is announced 3 and 1 days before its end, and not 7', async () => {
    const { clock } = here.floor
    await announce()
    const { proxies } = await here.buy(1, 7)
    const [proxy] = proxies
    for (const leftDays of [7, 6, 3, 1]) {
      clock.nowMs = (proxy?.expiresAt ?? 0) - leftDays * dayMs
      await announce()
    }
    expect(await told()).toEqual([3, 1].map((days) => ['proxy.expiring', proxy?.id, days]))
  })

  test('a shop that was stopped for 9 days announces the end of a proxy once, and a prolonged one not at all', async () => {
    const { clock, services } = here.floor
    await announce()
    const { proxies } = await here.buy(2, 14)
    const [kept, late] = proxies.map(({ id }) => id)
    await prolongProxies(services, here.customer, [kept ?? 0], 30)
    clock.nowMs = (proxies[1]?.expiresAt ?? 0) - 2 * dayMs
    await announce()
    expect(await told()).toEqual([['proxy.expiring', late, 3]])
    const all = await services.events.list(here.customer, { after: 0, type: 'proxy.renewed', limit: 9 })
    expect(all.map(({ data }) => [data['proxy_id'], data['period'], data['automatic']])).toEqual([[kept, 30, false]])
  })

  test('a refused renewal writes renewal.failed once for each reason', async () => {
    const { clock, services } = here.floor
    const { proxies } = await here.buy(1, 14)
    await services.dedicated.setRenewal(here.customer, [proxies[0]?.id ?? 0], 30)
    const { balance } = await services.ledger.balance(here.customer)
    const note = { note: 'all of it', key: null, reference: null }
    await services.db.transact((tx) =>
      services.ledger.adjust(tx, here.customer, { kind: 'debit', amount: balance, ...note }),
    )
    clock.nowMs = (proxies[0]?.expiresAt ?? 0) - dayMs
    for (let hour = 0; hour < 3; hour += 1) {
      await services.dedicatedUpkeep.renew(100)
      clock.advance(3_600_000)
    }
    const failed = await services.events.list(here.customer, { after: 0, type: 'renewal.failed', limit: 9 })
    expect(failed.map(({ data }) => data['reason'])).toEqual(['insufficient_funds'])
  })
})

describe.each([...enginesOf('sqlite')])('events of money and traffic on %s', (engine) => {
  test('balance.low is written when a charge crosses the threshold, and again only after a top-up', async () => {
    const shop = await openThingsShop(engine)
    try {
      const set = await shop.post('/balance/alert', { alert_below_rub: 985 })
      expect([set.data, (await shop.get('/balance/alert')).data]).toEqual([
        { alert_below_rub: 985 },
        { alert_below_rub: 985 },
      ])
      for (let count = 0; count < 3; count += 1) await shop.post('/things/buy', { count: 1 })
      const { services, customer } = shop
      await services.db.transact((tx) => services.ledger.credit(tx, customer, kopecks(5_000n), 'operator', 'top-up'))
      await shop.post('/things/buy', { count: 8 })
      const { events } = (await shop.get('/events?type=balance.low')).data
      expect(events.map((each: { data: object }) => each.data)).toEqual([
        { threshold_rub: 985, balance_rub: 982 },
        { threshold_rub: 985, balance_rub: 951 },
      ])
      expect((await shop.post('/balance/alert', { alert_below_rub: null })).data).toEqual({ alert_below_rub: null })
      expect((await shop.post('/balance/alert', { alert_below_rub: -1 })).status).toBe(400)
    } finally {
      await shop.stop()
    }
  })

  test('traffic.low is written once at 80, 95 and 100 % of a pool, and again after a purchase', async () => {
    const shop = await openPremiumShop(engine)
    try {
      const { services } = shop
      const customer = await shop.newCustomer()
      await shop.buy(customer, 10)
      const { subuser } = await services.premium.traffic.balance(customer, undefined, undefined)
      const set = (left: bigint) =>
        services.db.transact((tx) =>
          tx.run('UPDATE traffic_accounts SET balance = $2 WHERE subuser_id = $1 AND pool = $3', [
            subuser.id,
            left,
            pool,
          ]),
        )
      for (const left of [300_000_000n, 200_000_000n, 199_000_000n, 40_000_000n, 0n]) {
        await set(left)
        await Promise.all([1, 2].map(() => services.premium.traffic.announceLow(10)))
      }
      await shop.buy(customer, 10)
      await set(1n)
      expect(await services.premium.traffic.announceLow(10)).toBe(1)
      const low = await services.events.list(customer, { after: 0, type: 'traffic.low', limit: 9 })
      expect(low.map(({ data }) => data['percent'])).toEqual([80, 95, 100, 95])
    } finally {
      await shop.close()
    }
  })
})

describe.each([...enginesOf('postgres')])('events of VPN on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(() => service.stop())

  test('device.seen is written at the first handshake, and vpn.expiring, expired and renewed once each', async () => {
    const { vpn } = service.services
    await vpn.announceEnds(10)
    const { token } = await service.newCustomer(1000n)
    const bought = (await service.post('/vpn/buy', { period: 1 }, { token })).data
    const [device] = (await service.get('/vpn/info', { token })).data.devices
    const handshakeAt = service.clock.nowMs
    const seen = (boot: string) => report(service, boot, [{ device: device.id, rx: 1, tx: 1, handshakeAt }])
    await Promise.all([seen('a'), seen('b')])
    for (const days of [7, 3, 1, 0]) {
      service.clock.nowMs = Date.parse(bought.expires_at) - days * dayMs
      await Promise.all([vpn.announceEnds(10), vpn.announceEnds(10)])
    }
    await service.post('/vpn/renew', { period: 1 }, { token })
    await vpn.announceEnds(10)
    const { events } = (await service.get('/events', { token })).data
    expect(events.map((each: { type: string }) => each.type)).toEqual([
      'order.created',
      'device.seen',
      'vpn.expiring',
      'vpn.expiring',
      'vpn.expiring',
      'vpn.expired',
      'vpn.renewed',
      'order.created',
    ])
  })
})

describe.each([...enginesOf('sqlite')])('GET /events?wait on %s', (engine) => {
  let shop: ThingsShop
  beforeAll(async () => {
    shop = await openThingsShop(engine)
  })
  afterAll(() => shop.stop())
  const newCaller = async () => {
    const customer = await addCustomer(shop.services, 100_000n)
    const { text: token, token: issued } = await shop.services.customers.issueToken(customer, { name: 'wait' })
    return { customer, token, id: issued.id }
  }
  const isWaiting = async (count = 1) => {
    while (shop.eventWatch.size < count) await new Promise((resolve) => setImmediate(resolve))
  }

  test('a waiting request is answered with the first event of its type, and with nothing after its time', async () => {
    const { customer, token } = await newCaller()
    const answer = shop.get('/events?wait=60&type=order.refunded', { token })
    await isWaiting()
    const { body } = await buy(shop.services, { customer, token: null }, 1_000n)
    await shop.services.orders.refund(JSON.parse(body).order, kopecks(100n), 'scratched')
    expect((await answer).data.events.map((each: { id: number }) => each.id)).toEqual([2])
    expect((await shop.get('/events?after=2&wait=1', { token })).data.events).toEqual([])
    expect((await shop.get('/events?wait=60', { token })).data.events).toHaveLength(2)
    expect((await shop.get('/events?wait=61', { token })).status).toBe(400)
  })

  test('a wait ends when its token is revoked or its customer is blocked, with the refusal of that', async () => {
    const revoked = await newCaller()
    const blocked = await newCaller()
    const answers = [revoked, blocked].map(({ token }) => shop.get('/events?wait=60', { token }))
    await isWaiting(2)
    await shop.services.customers.revokeToken(revoked.id)
    await shop.services.setBlocked(blocked.customer, true)
    const [first, second] = await Promise.all(answers)
    expect([first?.status, second?.status]).toEqual([401, 403])
  })

  test('the ninth waiting request of a customer ends the first, and waits keep no permit from a purchase', async () => {
    const { token } = await newCaller()
    const waits = Array.from({ length: maxWaitsOfCustomer }, () => shop.get('/events?wait=60', { token }))
    await isWaiting(maxWaitsOfCustomer)
    const ninth = shop.get('/events?wait=60', { token })
    expect((await waits[0])?.data.events).toEqual([])
    expect((await shop.post('/things/buy', { count: 1 }, { token })).status).toBe(200)
    const answers = await Promise.all([...waits.slice(1), ninth])
    expect(answers.map((each) => each.data.events.length)).toEqual(answers.map(() => 1))
  })
})

test('EventWatch.stop ends every wait at once, and a failing look ends waits too', async () => {
  const customer = 'cus_1' as CustomerId
  let fails = false
  const events = {
    lastNumbers: async () => {
      if (fails) throw new Error('gone')
      return [{ customer_id: customer, last: 1n, revocation_epoch: 0n }]
    },
    onNoted: () => {},
  }
  const timing = new HandTiming()
  const watch = new EventWatch({ events, timing })
  const seen = await watch.seen(customer)
  const first = watch.wait(customer, seen, 60_000, new AbortController().signal)
  await timing.advance(1000)
  expect(watch.size).toBe(1)
  fails = true
  await passing(timing, first)
  fails = false
  const second = watch.wait(customer, seen, 60_000, new AbortController().signal)
  watch.stop()
  await second
  expect(watch.size).toBe(0)
})
