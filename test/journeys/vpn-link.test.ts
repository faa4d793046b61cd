import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createActions } from '../../src/app/shop/admin.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { sellVpn, vpnGatewayIsSeen } from '../harness/vpn.ts'

const html = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

describe.each([...enginesOf('postgres')])('the secret link of a VPN subscription on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine, { TURNPIKE_RATE_LINKS: '0' })
  })
  afterAll(() => service.stop())

  async function buySubscription() {
    const { token, customer } = await service.newCustomer(10_000n)
    const { data } = await service.post('/vpn/buy', { period: 1, name: 'Anna’s'.replace('’', "'") }, { token })
    return { token, customer, ...data }
  }

  test('the secret link serves a program the configuration with Cache-Control: no-store', async () => {
    const { subscription_url: url, config } = await buySubscription()
    const answer = await fetch(url)
    expect(await answer.text()).toBe(config)
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
    expect(answer.headers.get('x-robots-tag')).toContain('noindex')
    const head = await fetch(url, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
  })

  test('the secret link serves a browser a page that loads nothing and has no key or QR code before a press', async () => {
    const { subscription_url: url, device } = await buySubscription()
    service.clock.advance(60_000)
    const first = await (await fetch(url, { headers: html })).text()
    // Rounded up, as in the console: a minute after the purchase of a month of 31 days.
    expect(first).toContain('Left: 31 days')
    expect(first).not.toMatch(/<svg|<img|PrivateKey/)
    expect(first).toContain(`${service.url}/account#/vpn`)
    expect(first).toContain('node offline')
    const russian = await (await fetch(url, { headers: { ...html, 'Accept-Language': 'ru' } })).text()
    expect(russian).toContain('узел не на связи')
    const answer = await fetch(`${url}?device=${device}&show=wireguard`, { headers: html })
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(answer.headers.get('vary')).toBe('Accept, Accept-Language')
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toStartWith("default-src 'none'; style-src 'sha256-")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    const page = await answer.text()
    expect(page).toContain('<svg ')
    expect(page).toMatch(
      /<body>\s*<header><span>Turnpike<\/span><\/header>\s*<main class="card">[^]*<\/main>\s*<\/body>/,
    )
    expect(page).toContain('Anna&#39;s')
    expect(page).not.toMatch(/<script|<link|<iframe|src=|url\(|@import/)
    expect(page).not.toContain('PrivateKey')
  })

  test('the secret link serves PNG and SVG on request, and each device by its id', async () => {
    const { subscription_url: url, token } = await buySubscription()
    const added = (await service.post('/vpn/devices', { name: 'second' }, { token })).data
    expect((await fetch(`${url}?format=png`)).headers.get('content-type')).toBe('image/png')
    expect(await (await fetch(`${url}?format=svg`)).text()).toStartWith('<svg')
    expect(await (await fetch(`${url}?device=${added.device.id}`)).text()).toBe(added.config)
    expect(await (await fetch(url, { headers: html })).text()).toContain(`?device=${added.device.id}`)
  })

  test('an old, deleted or malformed secret link answers the same 404', async () => {
    const { subscription_url: url, token } = await buySubscription()
    const other = await buySubscription()
    const base = url.slice(0, url.lastIndexOf('/'))
    const old = url
    const renewed = (await service.post('/vpn/link/reset', {}, { token })).data.subscription_url
    expect(renewed).not.toBe(old)
    expect((await fetch(renewed)).status).toBe(200)
    expect((await service.get('/vpn/info', { token })).data.subscription_url).toBe(renewed)
    await service.post('/vpn/delete', {}, { token: other.token })
    const answers = await Promise.all(
      [old, other.subscription_url, `${base}/${'A'.repeat(32)}`, `${base}/x`].map(async (each) => {
        const answer = await fetch(each)
        return [answer.status, await answer.text(), answer.headers.get('cache-control')]
      }),
    )
    for (const answer of answers) expect(answer).toEqual(answers[0]!)
    expect(answers[0]?.[0]).toBe(404)
    for (const device of ['x', other.device]) {
      const answer = await fetch(`${renewed}?device=${device}`)
      expect([answer.status, await answer.text()]).toEqual([404, 'This subscription has no such device.\n'])
    }
    for (const format of ['exe', 'constructor', '__proto__']) {
      expect((await fetch(`${renewed}?format=${format}`)).status).toBe(400)
    }
    expect((await fetch(renewed, { method: 'POST' })).status).toBe(405)
  })

  test('the secret link of a blocked customer answers 404 and says to ask the seller, in both languages', async () => {
    const { subscription_url: url, customer } = await buySubscription()
    await service.services.setBlocked(customer, true)
    const english = await fetch(url)
    expect([english.status, await english.text()]).toEqual([
      404,
      'This subscription is blocked or has ended. Ask the seller.\n',
    ])
    const russian = await fetch(`${url}?device=x`, { headers: { 'Accept-Language': 'ru' } })
    expect([russian.status, await russian.text()]).toEqual([
      404,
      'Подписка заблокирована или закончилась. Обратитесь к продавцу.\n',
    ])
    await service.services.setBlocked(customer, false)
    expect((await fetch(url)).status).toBe(200)
  })

  test('the secret link shows an expired subscription, and works again after renewal', async () => {
    const { subscription_url: url, token } = await buySubscription()
    service.clock.advanceDays(40)
    expect(await (await fetch(url, { headers: html })).text()).toContain('Expired')
    await service.post('/vpn/renew', { period: 1 }, { token })
    expect(await (await fetch(url, { headers: html })).text()).toContain('Valid until')
  })
})

describe('the page of a secret link whose gateway serves apps', () => {
  test('the page has one button per app that imports the link, days and traffic left, and a QR code of the link after a press', async () => {
    const service = await startService('sqlite', {
      TURNPIKE_GATEWAY_VPN: 'on',
      TURNPIKE_CONTACT: 'https://help.example/',
    })
    try {
      await sellVpn(service, { months: { 1: 299 }, traffic_gb: 100 })
      await vpnGatewayIsSeen(service)
      const { token } = await service.newCustomer(10_000n)
      const { subscription_url: url } = (await service.post('/vpn/buy', { period: 1 }, { token })).data
      const page = await (await fetch(url, { headers: html })).text()
      const links = [...page.matchAll(/href="([^"]+)"/g)].map(([, link = '']) => link.replaceAll('&#38;', '&'))
      const encoded = encodeURIComponent(url)
      expect(links.slice(0, 7)).toEqual([
        `${service.url}/account#/vpn`,
        `happ://add/${url}`,
        `v2rayng://install-config?name=VPN&url=${encoded}`,
        `hiddify://import/${url}#VPN`,
        `streisand://import/${url}`,
        `sing-box://import-remote-profile?url=${encoded}#VPN`,
        '?show=qr',
      ])
      expect(links).toContain('https://help.example/')
      expect(page).toContain('31 days<br>Traffic left: 100.0 / 100.0 GB')
      expect(page).not.toContain('<svg')
      const pressed = await (await fetch(`${url}?show=qr`, { headers: html })).text()
      expect(pressed).toContain('aria-label="QR code of the link"><svg')
      service.clock.advanceDays(34)
      await vpnGatewayIsSeen(service)
      const russian = { ...html, 'Accept-Language': 'ru' }
      const ended = await (await fetch(url, { headers: russian })).text()
      expect(ended).toMatch(/Срок истёк .*Продлите подписку[^]*Осталось: 0 дней[^]*Продлить или оплатить/)
      const { headers } = await fetch(url)
      const read = (name: string) => Buffer.from(headers.get(name)?.slice(7) ?? '', 'base64').toString()
      expect(read('announce')).toMatch(/^Expired .*\/account#\/vpn$/)
      expect(read('profile-title')).toBe('VPN: device 1')
      expect(headers.get('subscription-userinfo')).toMatch(/^upload=0; download=0; total=100000000000; expire=\d{10}$/)
      expect([headers.get('profile-update-interval'), headers.get('support-url')]).toEqual([
        '12',
        'https://help.example/',
      ])
      expect(headers.get('profile-web-page-url')).toBe(url)
    } finally {
      await service.stop()
    }
  })
})

test('settings of links that an operator changes are in the next answer of the link, and bad ones are refused', async () => {
  const service = await startService('sqlite', { TURNPIKE_GATEWAY_VPN: 'on' })
  try {
    await vpnGatewayIsSeen(service)
    const { subscription_url: url } = (await service.post('/vpn/buy', { period: 1 })).data
    const actions = createActions(service.services)
    await actions.addOperator('owner-1', 'owner')
    const key = { name: 't', expiresAt: null }
    const { text: token } = await service.services.operators.issueToken('owner-1', key)
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
    const set = (body: object) =>
      fetch(`${service.url}/admin/v1/nodes/vpn-gateway/vpn`, { method: 'POST', headers, body: JSON.stringify(body) })
    const xhttp = async (): Promise<URLSearchParams> => {
      const links = Buffer.from(await (await fetch(`${url}?format=base64`)).text(), 'base64').toString()
      return new URL(links.split('\n').find((link) => link.includes('type=xhttp')) ?? '').searchParams
    }
    expect((await set({ fingerprint: 'edge', xmux: 2 })).status).toBe(200)
    const changed = await xhttp()
    expect([changed.get('fp'), JSON.parse(changed.get('extra') ?? '').xmux.maxConnections]).toEqual(['edge', 2])
    for (const xmux of [-1, 17, 1.5]) expect((await set({ xmux })).status).toBe(400)
    const undone = (await (await set({ xmux: 0 })).json()) as { data: { vpn_links: object } }
    expect(undone.data.vpn_links).toMatchObject({ fingerprint: 'edge', xmux: null })
    expect((await xhttp()).get('extra')).toBeNull()
  } finally {
    await service.stop()
  }
})

describe.each([...enginesOf('postgres')])('the rate limit of the secret link on %s', (engine) => {
  test('each secret link answers 429 with Retry-After after 3 requests per minute, and made-up links use up nothing', async () => {
    const service = await startService(engine, {
      TURNPIKE_RATE_LINKS: '3',
      TURNPIKE_TRUSTED_PROXIES: '127.0.0.1',
      TURNPIKE_PUBLIC_URL: 'https://vpn.example/shop/',
    })
    try {
      const { data } = await service.post('/vpn/buy', { period: 1 })
      expect(data.subscription_url).toStartWith('https://vpn.example/shop/vpn/s/')
      const url = `${service.url}${new URL(data.subscription_url).pathname.replace('/shop', '')}`
      const from = (address: string, asked = url) => fetch(asked, { headers: { 'X-Forwarded-For': address } })
      // Those without the MAC, and one of an earlier version.
      const madeUp = Array.from(
        { length: 20 },
        (_, at) => `${url.slice(0, -1)}${url.endsWith('A') ? 'B' : 'A'}${'x'.repeat(at % 2)}`,
      )
      const answers = await Promise.all(madeUp.map((each) => from('203.0.113.5', each)))
      expect(answers.map((each) => each.status)).toEqual(madeUp.map(() => 404))
      const early = await Promise.all(Array.from({ length: 4 }, () => from('203.0.113.5', url.slice(0, -8))))
      expect(early.filter((each) => each.status === 429)).toHaveLength(1)
      for (let opened = 0; opened < 3; opened += 1) expect((await from('203.0.113.5')).status).toBe(200)
      const refused = await from('203.0.113.5')
      expect(refused.status).toBe(429)
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await from('203.0.113.6')).status).toBe(429)
      const other = (await service.post('/vpn/buy', { period: 1 })).data.subscription_url
      expect((await from('203.0.113.5', `${service.url}${new URL(other).pathname.replace('/shop', '')}`)).status).toBe(
        200,
      )
      // An IPv6 source counts as its /64.
      const earlyFrom = (address: string) => from(address, url.slice(0, -8))
      for (let opened = 0; opened < 3; opened += 1)
        expect((await earlyFrom(`2001:db8::${opened + 1}`)).status).toBe(404)
      expect((await earlyFrom('2001:db8::ffff')).status).toBe(429)
      expect((await service.get('/vpn/info')).status).toBe(200)
      service.clock.advance(60_000)
      expect((await from('203.0.113.5')).status).toBe(200)
    } finally {
      await service.stop()
    }
  })
})
