import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { operations } from '../../src/console/client/customer.ts'
import { customerLink } from '../harness/console-links.ts'
import { type Service, startService } from '../harness/service.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { openVisitor } from './visitor.ts'

const isTaking = 'listPaymentMethods' in operations

describe('paying in the console', () => {
  let shop: Service
  let browser: Browser
  beforeAll(async () => {
    ;[shop, browser] = await Promise.all([startService('sqlite'), openChromium()])
  }, readyWithinMs)
  afterAll(async () => {
    await browser.close()
    await shop.stop()
  })

  test('is offered where the shop takes payments: a code, the time that is left, and the page turns when it is paid', async () => {
    const { token } = await shop.newCustomer()
    const visitor = await openVisitor(browser, shop.url)
    const { page, context } = visitor
    await page.goto(await customerLink(shop, token))
    await page.getByRole('link', { name: 'Money' }).click()
    await page.getByText('No movements yet').waitFor()
    expect(await page.getByRole('heading', { name: 'Top up' }).count()).toBe(isTaking ? 1 : 0)
    if (isTaking) {
      await page.getByLabel('Amount').fill('500')
      await page.getByRole('button', { name: 'Pay', exact: true }).dblclick()
      await page.getByRole('img', { name: 'QR code of the payment' }).waitFor()
      expect(await page.getByText(/Time left: \d+:\d\d/).count()).toBe(1)
      const address = (await page.getByRole('link', { name: 'Open the page to pay' }).getAttribute('href')) ?? ''
      expect((await fetch(address, { method: 'POST' })).ok).toBe(true)
      await page.getByText('₽500 has come to your balance.').waitFor()
      expect((await shop.get('/balance', { token })).data.balance_rub).toBe(500)
      expect((await shop.get('/payments', { token })).data.payments).toHaveLength(1)
    }
    await visitor.expectQuiet()
    await context.close()
  })
})
