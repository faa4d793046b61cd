import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { customerLink, operatorLink } from '../harness/console-links.ts'
import { type Service, startService } from '../harness/service.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { openVisitor } from './visitor.ts'

describe('tables of the console in Russian at 1280 px', () => {
  let shop: Service
  let browser: Browser
  beforeAll(async () => {
    ;[shop, browser] = await Promise.all([startService('sqlite'), openChromium()])
  }, readyWithinMs)
  afterAll(async () => {
    await browser.close()
    await shop.stop()
  })

  const openPage = async (link: string, path: string): Promise<Page> => {
    const options = { locale: 'ru-RU', viewport: { width: 1280, height: 860 } }
    const { page } = await openVisitor(browser, shop.url, options)
    await page.goto(link)
    await page.locator('#content h1').waitFor()
    await page.goto(`${shop.url}${path}`)
    return page
  }
  /** Pixels of a table that its frame hides until it is scrolled. */
  const hiddenPixels = (page: Page, name: string): Promise<number> =>
    page
      .getByRole('table', { name })
      .first()
      .evaluate((table: { parentElement: { scrollWidth: number; clientWidth: number } | null }) => {
        const frame = table.parentElement
        return frame === null ? Number.NaN : frame.scrollWidth - frame.clientWidth
      })

  test('the table of VPN devices shows its buttons without scrolling beside a device name of 64 letters', async () => {
    const { token } = await shop.newCustomer(10_000n)
    await shop.post('/vpn/buy', { period: 1, name: 'Ж'.repeat(64) }, { token })
    const page = await openPage(await customerLink(shop, token), '/#/vpn')
    await page.getByRole('button', { name: /^Удалить Ж/ }).waitFor()
    expect(await hiddenPixels(page, 'Устройства')).toBe(0)
    await page.context().close()
  })

  test('the table of exits shows all buttons of a drained exit without scrolling', async () => {
    const page = await openPage(await operatorLink(shop, 'looker', 'owner'), '/operator#/network')
    const exits = page.getByRole('table', { name: 'Выходы' })
    await exits.getByRole('button', { name: 'Вывести из работы' }).first().click()
    await page.getByRole('dialog').locator('button[type=submit]').click()
    await exits.getByRole('button', { name: 'Удалить' }).waitFor()
    expect(await hiddenPixels(page, 'Выходы')).toBe(0)
    await page.context().close()
  })

  test('a list of more than 20 exits begins with 20, and the button for more shows the others', async () => {
    const page = await openPage(await operatorLink(shop, 'counter', 'owner'), '/operator#/network')
    const rows = page.getByRole('table', { name: 'Выходы' }).locator('tbody tr')
    await rows.nth(19).waitFor()
    expect(await rows.count()).toBe(20)
    await page.getByRole('button', { name: 'Показать ещё' }).click()
    await rows.nth(20).waitFor()
    await page.context().close()
  })

  test('an operator chooses the VPN protocols of a gateway, and saves all but Trojan', async () => {
    const page = await openPage(await operatorLink(shop, 'saver', 'owner'), '/operator#/network/stock-gateway')
    await page.getByRole('button', { name: 'ссылки VPN' }).click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByRole('checkbox', { checked: true }).count()).toBe(7)
    await dialog.getByRole('checkbox', { name: 'Trojan' }).uncheck()
    expect(await dialog.locator('button[type=submit]').innerText()).toBe('Сохранить')
    await dialog.locator('button[type=submit]').click()
    await dialog.waitFor({ state: 'detached' })
    const [gateway] = await shop.services.fleet.nodes('gateway')
    expect(gateway?.vpnLinks).toMatchObject({
      protocols: ['vless', 'xhttp', 'websocket', 'http', 'naive', 'trusttunnel'],
      alpn: null,
      group: null,
    })
    await page.context().close()
  })
})
