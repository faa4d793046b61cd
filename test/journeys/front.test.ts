import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { providerKinds } from '../../src/adapters/payments/kinds.ts'
import { methodTexts } from '../../src/api/front/texts.ts'
import { enginesOf } from '../harness/database.ts'
import { applyCatalogue, shipped } from '../harness/proxies.ts'
import { type Service, startService } from '../harness/service.ts'

const maxWireBytes = 60 * 1024

describe.each([...enginesOf('sqlite')])('the public page on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine, { TURNPIKE_FRONT: 'on', TURNPIKE_PUBLIC_URL: 'https://shop.example' })
  })
  afterAll(() => service.stop())

  async function open(path: string, headers: Record<string, string> = {}) {
    const answer = await fetch(service.url + path, { headers: { 'Accept-Language': 'en', ...headers } })
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }
  const hashOf = (text: string) => `'sha256-${new Bun.CryptoHasher('sha256').update(text).digest('base64')}'`

  test('a visitor gets prices and stock without JavaScript, in less than 60 KB, with a policy for this page only', async () => {
    const sent = await fetch(`${service.url}/`, {
      decompress: false,
      headers: { 'Accept-Encoding': 'gzip' },
    } as RequestInit)
    expect((await sent.arrayBuffer()).byteLength).toBeLessThan(maxWireBytes)
    const { text, headers } = await open('/')
    expect(text).toContain('<title>Turnpike</title>')
    const month = (await service.get('/dedicated/quote?country_code=RU&period=30&count=1&ipv=4')).data.price_rub
    expect(text).toMatch(
      new RegExp(`Russia</th>(?:<td role="cell">.*?</td>)<td role="cell">₽${month}<small class="available">in stock`),
    )
    expect(text).not.toContain('on one port')
    expect(text).toContain('<meta property="og:image" content="https://shop.example/front/picture.png?c=0f7563">')
    expect(text).toContain('<link rel="canonical" href="https://shop.example/">')
    expect((await open('/?lang=ru')).text).toContain('<link rel="canonical" href="https://shop.example/?lang=ru">')
    expect(text.replaceAll('https://shop.example', '')).not.toMatch(/(?:src|href|content)="https?:/)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    const style = /<style>([\s\S]*?)<\/style>/.exec(text)?.[1] ?? ''
    const script = /<script>([\s\S]*?)<\/script>/.exec(text)?.[1] ?? ''
    expect([policy.includes(hashOf(style)), policy.includes(hashOf(script))]).toEqual([true, true])
    const tag = headers.get('etag') ?? ''
    expect((await open('/', { 'If-None-Match': tag })).status).toBe(304)
  })

  test('the calculator shows the price of a quote and its discounts in both languages, without JavaScript', async () => {
    const query = 'kind=4&country=DE&period=30&count=12'
    const quote = (await service.get('/dedicated/quote?country_code=DE&period=30&count=12&ipv=4')).data
    const { text } = await open(`/?${query}`)
    expect(text).toContain(`<span class="price">₽${quote.price_rub.toLocaleString('en')}</span>`)
    expect(text).toContain('Discount: 3 % from 10 pieces, 5 % from 30 days.')
    expect(text).toContain('<option value="DE" selected>')
    const { text: russian } = await open(`/price?${query}&lang=ru`)
    expect(russian).toContain('Скидка: 3 % от 10 шт., 5 % от 30 дней.')
    const { text: many } = await open('/price?kind=4&country=DE&period=3&count=5000')
    expect(many).toMatch(/<p>Number: 1,000 · Term: 7 days<\/p>/)
    expect((await open('/price?kind=4&country=DE&period=30&count=0')).text).toContain('Number: 1 · Term: 30 days')
    const odd = '/price?kind=<script>&country=%22%3E&period=1e9&count=-5'
    expect((await open(odd)).text).not.toContain('<script>')
  })

  test('each way to pay has a Russian name, which the Russian page shows', async () => {
    const methods = providerKinds.flatMap((each) => each.methods)
    const others = methods.filter(({ method, name }) => methodTexts[method]?.en !== name)
    expect(others).toEqual([])
    const { text } = await open('/?lang=ru')
    expect([text.includes('<li>Песочница '), text.includes('<li>Sandbox ')]).toEqual([true, false])
  })

  test('structured data has the lowest and highest price of each product', async () => {
    const data = /<script type="application\/ld\+json">(.*?)<\/script>/.exec((await open('/')).text)?.[1] ?? ''
    const products = JSON.parse(data)['@graph'].filter((each: { '@type': string }) => each['@type'] === 'Product')
    expect(products.at(-1)).toMatchObject({
      name: 'VPN',
      offers: { priceCurrency: 'RUB', lowPrice: 299, highPrice: 2690, offerCount: 4 },
    })
  })

  test('the page shows a new price within 5 s', async () => {
    await applyCatalogue(service.services, { ...shipped(), vpn: { months: { 1: 333 }, device_limit: 2 } })
    service.clock.advance(5_000)
    const { text } = await open('/')
    expect([text.includes('₽333'), text.includes('for 2 devices')]).toEqual([true, true])
  })

  test('/account gets the console; /?ref= and a browser with an unknown session get the public page', async () => {
    const isConsole = (text: string) => text.includes('id="console"')
    expect(isConsole((await open('/')).text)).toBe(false)
    expect(isConsole((await open('/?ref=7KQ2M9XV')).text)).toBe(false)
    expect(isConsole((await open('/account')).text)).toBe(true)
    const name = service.url.startsWith('https') ? '__Host-turnpike_customer' : 'turnpike_customer'
    const cookies = [`${name}=x`, `__Host-turnpike_customer=x`]
    expect(isConsole((await open('/', { Cookie: cookies.join('; ') })).text)).toBe(false)
  })

  test("terms are the operator's Markdown without its HTML, and absent until they are set", async () => {
    expect((await open('/terms')).status).toBe(404)
    expect((await open('/sitemap.xml')).text).not.toContain('/terms')
    const terms =
      '# Rules\n\nBe **kind**. <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://e.example/z.png)'
    await service.services.brands.setText('terms', 'en', terms)
    service.clock.advance(5_000)
    const { text } = await open('/terms?lang=ru')
    expect(text).toContain('<h2>Rules</h2>')
    expect(text).toContain('<strong>kind</strong>')
    const main = /<main[\s\S]*<\/main>/.exec(text)?.[0] ?? ''
    expect(main).not.toMatch(/<script|javascript:|<img/)
    expect((await open('/sitemap.xml')).text).toContain('https://shop.example/terms?lang=ru')
    expect((await open('/?lang=en')).text).toContain('href="/terms?lang=en"')
  })

  test('robots.txt leaves out the console, and the picture for messengers is a PNG of 1200 × 630', async () => {
    expect((await open('/robots.txt')).text).toContain('Disallow: /account')
    const picture = Buffer.from(await (await fetch(`${service.url}/front/picture.png`)).arrayBuffer())
    expect([picture.readUInt32BE(16), picture.readUInt32BE(20)]).toEqual([1200, 630])
    expect(picture.byteLength).toBeLessThan(20_000)
  })

  test('a shop without prices shows how to connect and no calculator, and TURNPIKE_FRONT is off in production', async () => {
    const empty = await startService(engine, { TURNPIKE_SANDBOX: 'off', TURNPIKE_FRONT: 'on' })
    const usual = await startService(engine, { TURNPIKE_SANDBOX: 'off', TURNPIKE_FRONT: '' })
    try {
      const page = await (await fetch(empty.url)).text()
      expect(page).not.toContain('or register')
      expect([page.includes('id="connect"'), page.includes('id="calculate"')]).toEqual([true, false])
      expect(await (await fetch(usual.url)).text()).toContain('id="console"')
    } finally {
      await Promise.all([empty.stop(), usual.stop()])
    }
  })
})
