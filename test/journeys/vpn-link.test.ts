import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'

const html = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

describe.each([...enginesOf('postgres')])('the secret link of a VPN subscription on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine, { TURNPIKE_RATE_LINKS: '0' })
  })
  afterAll(() => service.stop())

  async function buySubscription() {
    const { token } = await service.newCustomer(10_000n)
    const { data } = await service.post('/vpn/buy', { period: 1, name: 'Anna’s'.replace('’', "'") }, { token })
    return { token, ...data }
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

  test('the secret link serves a browser a page with the QR code that loads nothing from other hosts', async () => {
    const { subscription_url: url } = await buySubscription()
    const answer = await fetch(url, { headers: html })
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(answer.headers.get('vary')).toBe('Accept, Accept-Language')
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toStartWith("default-src 'none'; style-src 'sha256-")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    const page = await answer.text()
    expect(page).toContain('<svg ')
    expect(page).toMatch(/<body>\s*<main>[^]*<\/main>\s*<\/body>/)
    expect(page).toContain('Anna&#39;s')
    expect(page).not.toMatch(/<script|https?:\/\/(?!www\.w3\.org\/2000\/svg)/)
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
      [old, other.subscription_url, `${base}/${'A'.repeat(32)}`, `${base}/x`, `${renewed}?device=x`].map(
        async (each) => {
          const answer = await fetch(each)
          return [answer.status, await answer.text(), answer.headers.get('cache-control')]
        },
      ),
    )
    for (const answer of answers) expect(answer).toEqual(answers[0]!)
    expect(answers[0]?.[0]).toBe(404)
    expect((await fetch(`${renewed}?device=${other.device}`)).status).toBe(404)
    expect((await fetch(`${renewed}?format=exe`)).status).toBe(400)
    expect((await fetch(renewed, { method: 'POST' })).status).toBe(405)
  })

  test('the secret link shows an expired subscription, and works again after renewal', async () => {
    const { subscription_url: url, token } = await buySubscription()
    service.clock.advanceDays(40)
    expect(await (await fetch(url, { headers: html })).text()).toContain('Expired')
    await service.post('/vpn/renew', { period: 1 }, { token })
    expect(await (await fetch(url, { headers: html })).text()).toContain('Valid until')
  })
})

describe.each([...enginesOf('postgres')])('the rate limit of the secret link on %s', (engine) => {
  test('the secret link answers 429 with Retry-After after 3 requests per minute and source', async () => {
    const service = await startService(engine, {
      TURNPIKE_RATE_LINKS: '3',
      TURNPIKE_TRUSTED_PROXIES: '127.0.0.1',
      TURNPIKE_PUBLIC_URL: 'https://vpn.example/shop/',
    })
    try {
      const { data } = await service.post('/vpn/buy', { period: 1 })
      expect(data.subscription_url).toStartWith('https://vpn.example/shop/vpn/s/')
      const url = `${service.url}${new URL(data.subscription_url).pathname.replace('/shop', '')}`
      const from = (address: string) => fetch(url, { headers: { 'X-Forwarded-For': address } })
      for (let opened = 0; opened < 3; opened += 1) expect((await from('203.0.113.5')).status).toBe(200)
      const refused = await from('203.0.113.5')
      expect(refused.status).toBe(429)
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await from('203.0.113.6')).status).toBe(200)
      // An IPv6 source counts as its /64.
      for (let opened = 0; opened < 3; opened += 1) expect((await from(`2001:db8::${opened + 1}`)).status).toBe(200)
      expect((await from('2001:db8::ffff')).status).toBe(429)
      expect((await service.get('/vpn/info')).status).toBe(200)
      service.clock.advance(60_000)
      expect((await from('203.0.113.5')).status).toBe(200)
    } finally {
      await service.stop()
    }
  })
})
