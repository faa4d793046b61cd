import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { HandClock, runtimeWith } from '../harness/clock.ts'
import { customerLink } from '../harness/console-links.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { findBarriers, fitsWidth, openVisitor, shown, type Visitor } from './visitor.ts'

type Proxy = Readonly<{ id: number; ip: string; port: number; exit_ip: string; username: string; password: string }>

const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true } as const

describe.each([...enginesOf('sqlite')])('long lists in the console on %s', (engine) => {
  let shop: Service
  let browser: Browser
  let visitor: Visitor
  let page: Page
  let token: string
  let proxies: readonly Proxy[]
  beforeAll(async () => {
    const runtime = runtimeWith(new HandClock(Date.now()))
    ;[shop, browser] = await Promise.all([startService(engine, {}, runtime), openChromium()])
    ;({ token } = await shop.newCustomer(10_000_000n))
    for (const [country_code, period] of [
      ['DE', 7],
      ['US', 30],
    ] as const) {
      const order = { country_code, period, count: 1000, ipv: 6 }
      expect((await shop.post('/dedicated/buy', order, { token })).status).toBe(200)
    }
    await shop.post('/dedicated/buy', { country_code: 'NL', period: 30, count: 1, ipv: 4 }, { token })
    proxies = (await shop.get('/dedicated/list?limit=500', { token })).data.proxies
    visitor = await openVisitor(browser, shop.url, phone)
    page = visitor.page
    await page.goto(await customerLink(shop, token))
    await shown(page.getByRole('heading', { name: 'Overview', exact: true }))
  }, readyWithinMs)
  afterAll(async () => {
    await browser?.close()
    await shop?.stop()
  })

  const open = (path: string) => page.goto(`${shop.url}/#${path}`)
  const rows = () => page.locator('tbody tr[aria-rowindex]')
  const top = async () => Number(await page.evaluate('scrollY'))

  test('a list of 2,001 proxies renders at most 150 rows, fits a phone and has no accessibility barrier', async () => {
    await open('/dedicated')
    await shown(page.getByText('2,001 proxies'))
    expect(await rows().count()).toBeLessThan(150)
    expect([await findBarriers(page), await fitsWidth(page)]).toEqual([[], true])
    await page.evaluate('scrollTo(0, document.body.scrollHeight)')
    await shown(page.locator('tr[aria-rowindex="2002"]'))
    expect(await rows().count()).toBeLessThan(150)
    const box = await rows().first().getByRole('button').boundingBox()
    expect(Math.min(box?.width ?? 0, box?.height ?? 0)).toBeGreaterThanOrEqual(24)
  })

  test('one press copies a proxy in the chosen form, which a reload keeps', async () => {
    const [first] = proxies
    if (!first) throw new Error('no proxy was bought')
    const { ip, port, username, password } = first
    await open('/dedicated')
    await page.getByLabel('Search').fill(first.exit_ip)
    const copy = page.getByRole('button', { name: `Copy: ${ip}:${port}` })
    await copy.click()
    expect(String(await page.evaluate('navigator.clipboard.readText()'))).toBe(`${ip}:${port}:${username}:${password}`)
    await page.getByLabel('Copy format').selectOption('2')
    await page.reload()
    await copy.click()
    expect(String(await page.evaluate('navigator.clipboard.readText()'))).toBe(`${username}:${password}@${ip}:${port}`)
  })

  test('the address bar has the filters, and the way back from a proxy restores filters and position', async () => {
    await open('/dedicated')
    await page.getByLabel('Search').fill('')
    await page.getByLabel('Country').selectOption('US')
    await shown(page.getByText('1,000 proxies'))
    expect(page.url()).toEndWith('#/dedicated?country=US')
    await page.reload()
    await shown(page.getByText('1,000 proxies'))
    await page.evaluate('scrollTo(0, 30000)')
    const link = page.locator('tr[aria-rowindex="400"] a')
    await link.scrollIntoViewIfNeeded()
    // The scroll event of the last scroll comes with the next frame.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    const before = await top()
    // Playwright's click would scroll the row from under the bar of the phone.
    await page.evaluate(`document.querySelector('tr[aria-rowindex="400"] a').click()`)
    await shown(page.getByText('How to connect'))
    await page.goBack()
    await shown(page.locator('tr[aria-rowindex="400"]'))
    expect(Math.abs((await top()) - before)).toBeLessThan(2)
  })

  test('“Expires within a week” counts 1,000 proxies and prolongs them for the price on the button', async () => {
    await open('/')
    await shown(page.getByText('1,000 proxies'))
    const all = page.getByRole('button', { name: /^Prolong all for/ })
    await shown(all)
    const label = await all.innerText()
    const { data: before } = await shop.get('/balance', { token })
    await all.click()
    await page.getByRole('dialog').getByRole('button', { name: 'Prolong for' }).click()
    await shown(page.getByRole('heading', { name: '1,000 proxies prolonged for' }))
    const { data: after } = await shop.get('/balance', { token })
    const spent = Math.round((before.balance_rub - after.balance_rub) * 100) / 100
    expect(Number(label.replace(/[^\d.]/g, ''))).toBe(spent)
  })

  test('2,001 selected proxies are exported, commented and prolonged in parts, each charged once although one part fails', async () => {
    await open('/dedicated')
    await page.getByLabel('Select all', { exact: true }).check()
    await page.getByRole('toolbar').getByRole('button', { name: 'Export' }).click()
    const dialog = page.getByRole('dialog')
    const saving = page.waitForEvent('download')
    await dialog.getByRole('button', { name: 'Download' }).click()
    const file = await Bun.file(await (await saving).path()).text()
    expect(file.trim().split('\n')).toHaveLength(2001)
    await page.keyboard.press('Escape')
    await page.getByRole('toolbar').getByRole('button', { name: 'Comment' }).click()
    await dialog.getByLabel('Comment').fill('all of them')
    await dialog.getByRole('button', { name: 'Apply' }).click()
    await shown(dialog.getByRole('heading', { name: 'Done for 2,001 proxies' }))
    await dialog.getByRole('button', { name: 'Close', exact: true }).last().click()
    await dialog.waitFor({ state: 'detached' })
    const orders = async () => (await shop.get('/orders?limit=500', { token })).data.orders
    const [made, { data: before }] = [(await orders()).length, await shop.get('/balance', { token })]
    await page.getByLabel('Select all', { exact: true }).check()
    await page.getByRole('button', { name: 'Prolong' }).click()
    const prolong = dialog.getByRole('button', { name: /^Prolong for ₽/ })
    await shown(prolong)
    const price = Number((await prolong.innerText()).replace(/[^\d.]/g, ''))
    visitor.allow(/net::ERR_FAILED/)
    let requests = 0
    // The second part is executed, and its answer does not arrive.
    await page.route('**/dedicated/prolong', async (route) => {
      requests += 1
      if (requests !== 2) return route.continue()
      await route.fetch()
      await route.abort()
    })
    await prolong.click()
    await shown(dialog.getByText('Done: 1,000 of 2,001. Left: 1,001.'))
    expect(await findBarriers(page)).toEqual([])
    await shown(prolong)
    await prolong.click()
    await shown(page.getByRole('heading', { name: '2,001 proxies prolonged for' }))
    const { data: after } = await shop.get('/balance', { token })
    expect([requests, (await orders()).length - made]).toEqual([4, 3])
    expect(Math.round((before.balance_rub - after.balance_rub) * 100) / 100).toBe(price)
    const { proxies: all } = (await shop.get('/dedicated/list?limit=1', { token })).data
    expect(all[0].comment).toBe('all of them')
    await page.keyboard.press('Escape')
  })

  test('selected proxies show the price of prolonging, and all their addresses are replaced free of charge', async () => {
    await shop.post('/dedicated/buy', { country_code: 'NL', period: 30, count: 1, ipv: 4 }, { token })
    await open('/dedicated?country=NL')
    await page.reload()
    await shown(page.getByText('2 proxies', { exact: true }))
    await page.getByLabel('Select all', { exact: true }).check()
    const before = (await shop.get('/dedicated/list?country_code=NL', { token })).data.proxies
    const { data: money } = await shop.get('/balance', { token })
    const toolbar = page.getByRole('toolbar')
    await toolbar.getByRole('button', { name: 'Prolong' }).click()
    await shown(page.getByRole('dialog').getByRole('button', { name: /^Prolong for ₽/ }))
    await page.keyboard.press('Escape')
    await toolbar.getByRole('button', { name: 'Replace the address' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Replace the address' }).click()
    await shown(dialog.getByRole('heading', { name: 'Done for 2 proxies' }))
    await dialog.getByRole('button', { name: 'Close', exact: true }).last().click()
    await dialog.waitFor({ state: 'detached' })
    const after = (await shop.get('/dedicated/list?country_code=NL', { token })).data.proxies
    expect(after.map((each: Proxy) => each.id)).toEqual(before.map((each: Proxy) => each.id))
    expect(after[0].exit_ip).not.toBe(before[0].exit_ip)
    expect((await shop.get('/balance', { token })).data).toEqual(money)
  })

  test('the pages logged no console error', () => visitor.expectQuiet())
})
