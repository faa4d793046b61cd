import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { engines } from '../harness/database.ts'
import { refusalOf } from '../harness/failure.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf, sellVpn } from '../harness/vpn.ts'

const plan = {
  months: { 1: 300, 3: 800 },
  device_limit: 1,
  slots: { 1: 149, 2: 249, 5: 499, 50: 1999 },
  refund: 'pro_rata',
}

describe.each([...engines])('device slots on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
    await sellVpn(service, plan)
  })
  afterAll(async () => {
    expect(await findingsOf(service)).toEqual([])
    await service.stop()
  })

  const addCustomer = async (roubles = 10_000n) => {
    const { token } = await service.newCustomer(roubles)
    return {
      get: (path: string) => service.get(path, { token }),
      post: (path: string, body: unknown, key?: string) =>
        service.post(path, body, { token, ...(key !== undefined && { key }) }),
    }
  }
  const subscribe = async () => {
    const customer = await addCustomer()
    const { uuid } = (await customer.post('/vpn/buy', { period: 1 })).data
    return { ...customer, uuid }
  }

  test('GET /vpn/devices/quote prices the listed numbers and refuses 4 with the list', async () => {
    const all = (await service.get('/vpn/devices/quote')).data
    expect(all.prices).toEqual([
      { count: 1, price_rub: 149 },
      { count: 2, price_rub: 249 },
      { count: 5, price_rub: 499 },
      { count: 50, price_rub: 1999 },
    ])
    const one = { count: 2, price_rub: 249, valid_until: null }
    expect((await service.get('/vpn/devices/quote?count=2')).data).toEqual(one)
    const refused = await service.get('/vpn/devices/quote?count=4')
    expect([refused.status, refused.error.details[0].allowed]).toEqual([400, [1, 2, 5, 50]])
  })

  test('POST /vpn/devices/increase adds slots at once, and a repeat with its key charges nothing', async () => {
    const { post, get } = await subscribe()
    const full = (await post('/vpn/devices', {})).error
    expect([full.reason, full.message]).toEqual(['device_limit', expect.stringContaining('/vpn/devices/increase')])
    const first = await post('/vpn/devices/increase', { count: 2 }, 'slots-1')
    expect(first.data).toMatchObject({ count: 2, price_rub: 249, device_limit: 3, slots: 2, balance_rub: 9451 })
    expect((await post('/vpn/devices/increase', { count: 2 }, 'slots-1')).data).toEqual(first.data)
    expect((await get('/balance')).data.balance_rub).toBe(9451)
    expect((await post('/vpn/devices', {})).status).toBe(200)
    expect((await get('/vpn/info')).data).toMatchObject({ device_limit: 3, slots: 2 })
  })

  test('POST /vpn/devices/increase above max_price_rub is refused with price_changed and charges nothing', async () => {
    const { post, get } = await subscribe()
    const refused = await post('/vpn/devices/increase', { count: 1, max_price_rub: 100 })
    expect([refused.status, refused.error.reason]).toEqual([409, 'price_changed'])
    expect((await get('/vpn/info')).data).toMatchObject({ device_limit: 1, slots: 0 })
  })

  test('an ended, disabled or missing subscription buys no slots', async () => {
    const none = await addCustomer()
    expect((await none.post('/vpn/devices/increase', { count: 1 })).status).toBe(404)
    const { uuid, post } = await subscribe()
    await service.services.vpn.setDisabled(uuid, true)
    expect((await post('/vpn/devices/increase', { uuid, count: 1 })).error.reason).toBe('subscription_not_active')
    await service.services.vpn.setDisabled(uuid, false)
    service.clock.advanceDays(40)
    expect((await post('/vpn/devices/increase', { uuid, count: 1 })).error.reason).toBe('subscription_not_active')
  })

  test('a subscription buys at most 100 slots', async () => {
    const { post } = await subscribe()
    for (const count of [50, 50]) expect((await post('/vpn/devices/increase', { count })).status).toBe(200)
    const refused = await post('/vpn/devices/increase', { count: 1 })
    expect([refused.status, refused.error.reason]).toEqual([409, 'slot_limit'])
  })

  test('a renewal renews 4 slots at the lowest price of listed numbers, as its quote says', async () => {
    const { uuid, post, get } = await subscribe()
    await post('/vpn/devices/increase', { count: 2 })
    await post('/vpn/devices/increase', { count: 2 })
    const quote = (await get(`/vpn/quote?period=3&uuid=${uuid}`)).data
    expect(quote).toMatchObject({ price_rub: 800 + 498, slots: 4, slots_price_rub: 498 })
    expect((await post('/vpn/renew', { period: 3, max_price_rub: 1298 })).data.price_rub).toBe(1298)
    expect((await get('/vpn/info')).data).toMatchObject({ slots: 4, device_limit: 5 })
  })

  test('slots that the price list sells no more end with the term, and the renewal removes no device', async () => {
    const { post, get } = await subscribe()
    await post('/vpn/devices/increase', { count: 1 })
    await post('/vpn/devices', {})
    service.clock.advanceDays(40)
    await sellVpn(service, { ...plan, slots: {} })
    expect((await get('/vpn/devices/quote?count=1')).error.reason).toBe('vpn_slots_not_sold')
    expect((await post('/vpn/renew', { period: 1 })).data.price_rub).toBe(300)
    const { slots, device_limit, devices } = (await get('/vpn/info')).data
    expect([slots, device_limit, devices.length]).toEqual([0, 1, 2])
    await sellVpn(service, plan)
  })

  test('ending the order of slots is refused and ends no subscription; its money can be refunded', async () => {
    const { post, get } = await subscribe()
    const { order_id: order } = (await post('/vpn/devices/increase', { count: 1 })).data
    const { refunds } = service.services
    const note = 'test'
    const ended = refunds.end({ order, how: 'unused', note, key: undefined })
    expect((await refusalOf(ended)).reason).toBe('slots_end_with_subscription')
    expect((await get('/vpn/info')).data).toMatchObject({ status: 'ACTIVE', slots: 1 })
    await refunds.refund({ order, amount: 'all', again: false, note, key: undefined })
    expect((await get('/balance')).data.balance_rub).toBe(9700)
  })

  test('deleting at once refunds the term and its slots in full, as the quote says', async () => {
    const { post, get } = await subscribe()
    await post('/vpn/devices/increase', { count: 5 })
    await post('/vpn/renew', { period: 1 })
    expect((await get('/vpn/delete/quote')).data.refund_rub).toBe(300 + 499 + 799)
    expect((await post('/vpn/delete', {})).data).toMatchObject({ refunded_rub: 1598, balance_rub: 10_000 })
  })

  test('POST /vpn/devices/reset removes all devices, which frees their slots', async () => {
    const { post, get } = await subscribe()
    const [device] = (await get('/vpn/info')).data.devices
    const { data } = await post('/vpn/devices/reset', {})
    expect(data).toMatchObject({ removed: [device.id], devices: [] })
    expect((await get('/vpn/info')).data).toMatchObject({ devices: [], device_limit: 1 })
    expect((await post('/vpn/devices', {})).status).toBe(200)
  })
})
