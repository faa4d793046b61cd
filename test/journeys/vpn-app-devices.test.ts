import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { engines } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf, sellVpn, vpnGatewayIsSeen } from '../harness/vpn.ts'

const phone = { 'X-Hwid': 'phone-of-anna-1', 'X-Device-Model': 'iPhone 15 Pro', 'X-Device-OS': 'iOS' }
const tablet = { 'X-Hwid': 'tablet-of-anna-1', 'X-Device-Model': 'Tab <b>S9</b>' }
const laptop = { 'X-Hwid': 'laptop-of-anna-1' }

describe.each([...engines])('devices of apps at the secret link on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine, { TURNPIKE_RATE_LINKS: '0', TURNPIKE_GATEWAY_VPN: 'on' })
    await vpnGatewayIsSeen(service)
  })
  afterAll(async () => {
    expect(await findingsOf(service)).toEqual([])
    await service.stop()
  })

  async function subscribe(limit: number) {
    await sellVpn(service, { months: { 1: 300 }, device_limit: limit, refund: 'pro_rata' })
    await vpnGatewayIsSeen(service)
    const { token } = await service.newCustomer(10_000n)
    const { subscription_url: url, device } = (await service.post('/vpn/buy', { period: 1 }, { token })).data
    const fetchLinks = async (headers: Record<string, string>, query = '') => {
      // Devices are listed by creation time, which two of the same moment would share.
      service.clock.advance(1000)
      const answer = await fetch(`${url}${query}`, { headers })
      const links = Buffer.from(await answer.text(), 'base64')
        .toString()
        .split('\n')
      return { answer, links, key: /^vless:\/\/([^@]+)@/.exec(links[0] ?? '')?.[1] }
    }
    return {
      device,
      fetchLinks,
      post: (path: string, body: unknown) => service.post(path, body, { token }),
      devices: async () => (await service.get('/vpn/info', { token })).data.devices,
    }
  }
  const nameIn = (link: string | undefined) => decodeURIComponent(link?.split('#')[1] ?? '')

  test('an app that sends x-hwid gets a device of its own when it first asks, and the same one later', async () => {
    const { fetchLinks, devices } = await subscribe(3)
    const first = await fetchLinks(phone)
    expect([first.answer.status, first.answer.headers.get('x-hwid-active')]).toEqual([200, 'true'])
    expect((await fetchLinks(phone)).links).toEqual(first.links)
    const second = await fetchLinks(tablet)
    expect(second.key).not.toBe(first.key)
    expect((await fetchLinks({})).key).not.toBe(first.key)
    expect((await devices()).map((each: { name: string }) => each.name)).toEqual([
      'device 1',
      'iPhone 15 Pro (iOS)',
      'Tab bS9b',
    ])
    const stored = await service.services.db.all<{ app_digest: Uint8Array }>(
      'SELECT app_digest FROM vpn_peers WHERE app_digest IS NOT NULL',
    )
    expect(stored.every(({ app_digest }) => app_digest.length === 32)).toBe(true)
  })

  test('an app above the device limit gets one entry with the message, and x-hwid-max-devices-reached', async () => {
    const { fetchLinks, devices } = await subscribe(2)
    await fetchLinks(phone)
    // The first device of the purchase is unused, so the second app takes it.
    expect((await fetchLinks(tablet)).answer.headers.get('x-hwid-max-devices-reached')).toBeNull()
    const { answer, links } = await fetchLinks({ ...laptop, 'Accept-Language': 'ru' })
    expect(answer.headers.get('x-hwid-max-devices-reached')).toBe('true')
    expect(links).toHaveLength(1)
    expect(nameIn(links[0])).toBe('Все устройства заняты. Удалите одно или докупите место в магазине.')
    expect(links[0]).toContain('@127.0.0.1:1?')
    expect(await devices()).toHaveLength(2)
  })

  test('?device= by id or name wins over x-hwid, and a page makes no device', async () => {
    const { fetchLinks, devices, device } = await subscribe(3)
    const first = await fetchLinks({})
    expect((await fetchLinks(phone, `?device=${device}`)).key).toBe(first.key)
    expect((await fetchLinks(phone, '?device=device%201')).key).toBe(first.key)
    expect((await fetchLinks(phone, '?device=nobody')).answer.status).toBe(404)
    await fetchLinks({ ...phone, Accept: 'text/html' })
    await fetchLinks(phone, '?format=page')
    await fetchLinks({ 'X-Hwid': 'short' })
    expect(await devices()).toHaveLength(1)
  })

  test('4 requests of one app and of two apps at a time make one device for each and never exceed the limit', async () => {
    const { fetchLinks, devices } = await subscribe(2)
    await Promise.all([phone, phone, phone, tablet].map((headers) => fetchLinks(headers)))
    const held = await devices()
    expect(held).toHaveLength(2)
    expect(new Set(await Promise.all([phone, tablet].map(async (each) => (await fetchLinks(each)).key))).size).toBe(2)
  })

  test('an app whose devices are removed again and again gets at most 3 a day per slot, and the customer more', async () => {
    const { fetchLinks, post } = await subscribe(1)
    const reached: (string | null)[] = []
    for (let round = 0; round < 3; round += 1) {
      await post('/vpn/devices/reset', {})
      reached.push((await fetchLinks(phone)).answer.headers.get('x-hwid-max-devices-reached'))
    }
    expect(reached).toEqual([null, null, 'true'])
    expect((await post('/vpn/devices', {})).status).toBe(200)
  })

  test('an app without a device gets none of an ended subscription, and one after the renewal', async () => {
    const { fetchLinks, post, devices } = await subscribe(2)
    service.clock.advanceDays(40)
    await vpnGatewayIsSeen(service)
    const { answer, links } = await fetchLinks(phone)
    expect(nameIn(links[0])).toStartWith('Expired')
    expect(Buffer.from(answer.headers.get('announce')?.slice(7) ?? '', 'base64').toString()).toStartWith('Expired')
    expect(await devices()).toHaveLength(1)
    await post('/vpn/renew', { period: 1 })
    expect((await fetchLinks(phone)).links).not.toEqual(links)
    expect(await devices()).toHaveLength(2)
  })

  test('the link answers apps with 503 and Retry-After in every format while every gateway is drained', async () => {
    const { fetchLinks } = await subscribe(2)
    await service.services.fleet.drain('vpn-gateway', true)
    const asked = [
      { 'User-Agent': 'SFA/1.12' },
      { 'User-Agent': 'clash-verge/v2' },
      { 'User-Agent': 'Happ/3.1' },
      phone,
    ]
    for (const headers of asked) {
      const { answer } = await fetchLinks(headers)
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '60'])
    }
    for (const format of ['base64', 'singbox', 'mihomo', 'xray'])
      expect((await fetchLinks({}, `?format=${format}`)).answer.status).toBe(503)
    expect((await fetchLinks({ Accept: 'text/html' })).answer.status).toBe(200)
    await service.services.fleet.drain('vpn-gateway', false)
    await vpnGatewayIsSeen(service)
    expect((await fetchLinks(phone)).answer.status).toBe(200)
  })

  test('the link of a subscription without devices answers 404 without x-hwid, and makes a device with it', async () => {
    const { fetchLinks, post } = await subscribe(2)
    expect((await post('/vpn/devices/reset', {})).status).toBe(200)
    const { answer } = await fetchLinks({})
    expect([answer.status, await fetch(answer.url).then((again) => again.text())]).toEqual([
      404,
      'This subscription has no device. Add one in the shop.\n',
    ])
    expect((await fetchLinks(phone)).answer.status).toBe(200)
  })
})
