import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createActions } from '../../src/app/shop/admin.ts'
import { type BrowserSession, createBrowserSession } from '../harness/browser-session.ts'
import { engines } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'

const logo = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle cx="4" cy="4" r="4"/></svg>'
const asBase64 = (text: string): string => Buffer.from(text).toString('base64')

describe.each(engines)('the brand on %s', (engine) => {
  let service: Service
  let owner: BrowserSession
  beforeAll(async () => {
    service = await startService(engine, { TURNPIKE_CONTACT: 'old@shop.example' })
    const { text } = await createActions(service.services).addOperator('owner-1', 'owner')
    owner = await createBrowserSession(service.url)
    await owner.post('/auth/v1/operator/sign-in/link', { link: text })
  })
  afterAll(() => service.stop())

  const page = async (path: string): Promise<{ text: string; policy: string }> => {
    const answer = await fetch(service.url + path, { headers: { 'Accept-Language': 'en' } })
    return { text: await answer.text(), policy: answer.headers.get('content-security-policy') ?? '' }
  }

  test('console, payment page, docs and sign-in show the name, colour, logo and contact that the owner set', async () => {
    await owner.post('/admin/v1/brand', { name: 'Fast & <Good>', accent: '#1D4ED8', contact: 'help@shop.example' })
    const { data } = await owner.post('/admin/v1/brand/images/logo', { content: asBase64(logo) })
    expect(data).toMatchObject({ name: 'Fast & <Good>', accent: '#1d4ed8', contact: 'help@shop.example' })
    const name = 'Fast &amp; &lt;Good&gt;'
    const consolePage = (await page('/operator')).text
    expect(consolePage).toContain(`<title>${name}</title>`)
    expect(consolePage).toContain('#1d4ed8')
    expect((await page('/docs')).text).toContain(`<title>${name} API</title>`)
    const { data: payment } = await service.post('/payments', { amount_rub: 100, method: 'sandbox' })
    const paying = await page(new URL(payment.pay_url).pathname)
    expect(paying.text).toContain(`<img src="${data.logo}" alt=""><span>Fast &#38; &#60;Good&#62;</span>`)
    expect(paying.text).toContain('--accent:#1d4ed8')
    expect(paying.text).toContain('mailto:help@shop.example')
    const style = /<style>([\s\S]*?)<\/style>/.exec(paying.text)?.[1] ?? ''
    expect(paying.policy).toContain(`'sha256-${new Bun.CryptoHasher('sha256').update(style).digest('base64')}'`)
    const { data: offers } = await owner.get('/auth/v1/customer/offers')
    expect(offers.contact.text).toBe('help@shop.example')
  })

  test('an image is served with its type, a policy without scripts, and for a year', async () => {
    const { data } = await owner.get('/admin/v1/brand')
    const answer = await fetch(service.url + data.logo)
    expect(await answer.text()).toBe(logo)
    expect(answer.headers.get('content-type')).toBe('image/svg+xml')
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(answer.headers.get('cache-control')).toContain('immutable')
    expect((await fetch(`${service.url}/brand/icon`)).status).toBe(404)
  })

  test('a refused colour, image or text changes nothing', async () => {
    const before = (await owner.get('/admin/v1/brand')).data
    const refused = [
      await owner.post('/admin/v1/brand', { name: 'Other', accent: '#ffff00' }),
      await owner.post('/admin/v1/brand', { name: 'Two\nlines' }),
      await owner.post('/admin/v1/brand', { contact: 'javascript:alert(1)' }),
      await owner.post('/admin/v1/brand/images/icon', { content: asBase64(logo.replace('<circle', '<script')) }),
      await owner.post('/admin/v1/brand/texts/headline', { language: 'en', text: 'x'.repeat(161) }),
      await owner.post('/admin/v1/brand/texts/terms', { language: 'de', text: 'x' }),
    ]
    expect(refused.map((each) => each.status)).toEqual([400, 400, 400, 400, 400, 400])
    expect((await owner.get('/admin/v1/brand')).data).toEqual(before)
  })

  test('a dry run names every faulty line at once, shows the brand as it would be, and writes nothing', async () => {
    const before = (await owner.get('/admin/v1/brand')).data
    const wish = { name: 'Tried', accent: '#FFD400', contact: 'no address', dry_run: true }
    const refused = await owner.post('/admin/v1/brand', wish)
    expect(refused.error.details.map((each: { readonly field: string }) => each.field)).toEqual(['contact', 'accent'])
    const tried = await owner.post('/admin/v1/brand', { ...wish, accent: '#7C2D12', contact: '' })
    expect(tried.data).toMatchObject({ name: 'Tried', accent: '#7c2d12', contact: 'old@shop.example' })
    expect((await owner.get('/admin/v1/brand')).data).toEqual(before)
  })

  test('an empty value returns to the default', async () => {
    await owner.post('/admin/v1/brand/texts/terms', { language: 'ru', text: '# Условия' })
    const { data } = await owner.get('/admin/v1/brand')
    expect(data.texts).toEqual([{ name: 'terms', language: 'ru', text: '# Условия' }])
    await owner.post('/admin/v1/brand/texts/terms', { language: 'ru', text: '' })
    await owner.post('/admin/v1/brand', { name: '', accent: '', contact: '' })
    await owner.post('/admin/v1/brand/images/logo', { content: '' })
    expect((await owner.get('/admin/v1/brand')).data).toMatchObject({
      name: 'Turnpike',
      accent: '#0f7563',
      contact: 'old@shop.example',
      logo: null,
      texts: [],
    })
  })
})
