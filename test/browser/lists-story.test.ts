import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { customerLink, operatorLink } from '../harness/console-links.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { findBarriers, fitsWidth, openVisitor, shown, type Visitor } from './visitor.ts'

/** Lists of a customer with four proxies, and the palette of both consoles. Tests run in order. */
describe.each([...enginesOf('sqlite')])('lists story on %s', (engine) => {
  let shop: Service
  let browser: Browser
  let visitor: Visitor
  let page: Page
  let token: string
  beforeAll(async () => {
    ;[shop, browser] = await Promise.all([startService(engine), openChromium()])
    ;({ token } = await shop.newCustomer(100_000n))
    for (const [country_code, count] of [
      ['NL', 1],
      ['DE', 2],
      ['US', 1],
    ] as const) {
      const order = { country_code, period: 30, count, ipv: 4 }
      expect((await shop.post('/dedicated/buy', order, { token })).status).toBe(200)
    }
    visitor = await openVisitor(browser, shop.url, { viewport: { width: 1440, height: 900 } })
    page = visitor.page
    await page.goto(await customerLink(shop, token))
    await shown(page.getByRole('heading', { name: 'Overview', exact: true }))
  }, readyWithinMs)
  afterAll(async () => {
    await browser?.close()
    await shop?.stop()
  })

  const open = (path: string) => page.goto(`${shop.url}/#${path}`)
  const countries = () => page.locator('tbody tr[aria-rowindex] .country').allTextContents()
  const press = (name: string) => page.getByRole('button', { name, exact: true }).first().click()
  const dialog = () => page.getByRole('dialog')
  const comments = async (): Promise<string[]> =>
    (await shop.get('/dedicated/list', { token })).data.proxies.map((each: { comment: string }) => each.comment)

  test('a press on a column sorts proxies in both directions, the third press ends it, and a reload keeps it', async () => {
    await open('/dedicated')
    await shown(page.getByText('4 proxies'))
    const before = await countries()
    await press('Country')
    const sorted = ['DE IPv4 private', 'DE IPv4 private', 'NL IPv4 private', 'US IPv4 private']
    expect((await countries()).map((each) => each.trim())).toEqual(sorted)
    expect(await page.locator('th[aria-sort=ascending]').innerText()).toContain('Country')
    await press('Country')
    await page.reload()
    await shown(page.locator('th[aria-sort=descending]'))
    expect((await countries()).map((each) => each.trim())).toEqual(sorted.toReversed())
    await press('Country')
    expect(await countries()).toEqual(before)
    expect(await page.locator('tbody .flag').count()).toBe(4)
    expect([await findBarriers(page), await fitsWidth(page)]).toEqual([[], true])
  })

  test('a filter is saved under a name, is there after a reload, and sets the list again', async () => {
    await page.getByLabel('Country').selectOption('DE')
    await press('Save this filter')
    await dialog().getByLabel('Name of the filter').fill('Germany')
    await dialog().getByRole('button', { name: 'Save this filter' }).click()
    await page.getByLabel('Country').selectOption('')
    await shown(page.getByText('4 proxies'))
    await page.reload()
    await press('Germany')
    await shown(page.getByText('2 proxies'))
    await press('Remove the filter Germany')
    expect(await page.getByRole('button', { name: 'Germany', exact: true }).count()).toBe(0)
    await page.getByLabel('Country').selectOption('')
  })

  test('a comment on two proxies is undone, which brings back the different comments from before', async () => {
    const { proxies } = (await shop.get('/dedicated/list', { token })).data
    const [first, second] = proxies as readonly { id: number; ip: string; port: number }[]
    await shop.post('/dedicated/comment', { ids: [first?.id], comment: 'old' }, { token })
    await page.reload()
    for (const each of [first, second]) await page.getByLabel(`Select ${each?.ip}:${each?.port}`).check()
    await page.getByRole('toolbar').getByRole('button', { name: 'Comment' }).click()
    await dialog().getByLabel('Comment').fill('new')
    await dialog().getByRole('button', { name: 'Apply' }).click()
    await shown(page.getByText('Comment: changed for 2 proxies'))
    expect((await comments()).slice(0, 2)).toEqual(['new', 'new'])
    expect(await findBarriers(page)).toEqual([])
    await press('Undo')
    await shown(page.getByText('Undone: everything is as before.'))
    expect((await comments()).slice(0, 2)).toEqual(['old', ''])
  })

  test('all proxies are checked with a progress bar, and those that fail are listed with the cause', async () => {
    await page.getByLabel('Select all', { exact: true }).check()
    await page.getByRole('toolbar').getByRole('button', { name: 'Check' }).click()
    await dialog().getByRole('button', { name: 'Check all' }).click()
    // No gateway runs here.
    await shown(dialog().getByText('0 work, 4 do not.'))
    expect(await dialog().getByText('the gateway is not running').count()).toBe(4)
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
  })

  test('the orders are a CSV file with values, not with the texts of the page', async () => {
    await open('/orders')
    await shown(page.getByRole('table', { name: 'Orders' }))
    const saving = page.waitForEvent('download')
    await press('CSV: Orders')
    const download = await saving
    const lines = (await Bun.file(await download.path()).text()).trim().split('\r\n')
    expect(download.suggestedFilename()).toBe('orders.csv')
    expect(lines[0]).toBe('Order,Product,When,Price')
    expect(lines).toHaveLength(4)
    expect(lines[1]).toMatch(/^ord_\w+,[^,]+,\d{4}-\d\d-\d\dT[\d:.]+Z,\d+(\.\d+)?$/)
  })

  test('Ctrl K finds a proxy, an action and an order, and nothing of operators', async () => {
    const { proxies } = (await shop.get('/dedicated/list', { token })).data
    await page.keyboard.press('Control+k')
    const field = page.getByRole('combobox')
    await field.fill(proxies[0].exit_ip)
    await shown(page.getByRole('option', { name: `${proxies[0].ip}:${proxies[0].port}` }).first())
    expect(await findBarriers(page)).toEqual([])
    await field.fill('audit')
    await shown(page.getByText('Nothing matches.'))
    await field.fill('buy proxies')
    await page.keyboard.press('Enter')
    await shown(page.getByRole('heading', { name: 'Buy dedicated proxies' }))
    await page.keyboard.press('Control+k')
    await field.fill('order dedicated')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(/#\/orders\/ord_/)
  })

  test('the palette of an operator finds customers, in Russian at 390 pixels, and shows only pages of the role', async () => {
    const operator = await openVisitor(browser, shop.url, {
      viewport: { width: 390, height: 844 },
      locale: 'ru-RU',
      colorScheme: 'dark',
    })
    await operator.page.goto(await operatorLink(shop, 'reader', 'reader'))
    await shown(operator.page.getByRole('heading', { level: 1, name: 'Обзор' }))
    await operator.page.keyboard.press('Control+k')
    const field = operator.page.getByRole('combobox')
    await field.fill('anoth')
    await shown(operator.page.getByRole('option', { name: /another/ }))
    expect([await findBarriers(operator.page), await fitsWidth(operator.page)]).toEqual([[], true])
    await field.fill('Журнал')
    await shown(operator.page.getByText('Ничего не найдено.'))
    await operator.expectQuiet()
    await operator.context.close()
  })

  test('the pages logged no console error', () => visitor.expectQuiet())
})
