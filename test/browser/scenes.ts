import type { Page } from 'playwright-core'
import type { Service } from '../harness/service.ts'

/** A page or state of the console, which `npm run pictures` photographs and `looks.long.test.ts` checks. */
export type Scene = {
  readonly name: string
  readonly path: string
  readonly prepare?: (page: Page, shop: Service) => Promise<unknown>
}

const dayMs = 86_400_000

/** The form of a payment; an open payment is shown in place of it. */
async function openPayForm(page: Page): Promise<void> {
  await page.reload()
  const another = page.getByRole('button', { name: /^(New payment|Новый платёж)$/ })
  const form = page.getByLabel(/^(Payment method|Способ оплаты)$/)
  await another.or(form).first().waitFor()
  if (await another.isVisible()) await another.click()
  await form.waitFor()
}

/** Pages of the customer's console. */
export const ofCustomers: readonly Scene[] = [
  { name: 'overview', path: '#/' },
  { name: 'dedicated', path: '#/dedicated' },
  { name: 'dedicated-buy', path: '#/dedicated/buy' },
  { name: 'dedicated-proxy', path: '#/dedicated/1' },
  { name: 'premium', path: '#/premium' },
  { name: 'premium-generate', path: '#/premium/generate' },
  { name: 'premium-access', path: '#/premium/access' },
  { name: 'premium-usage', path: '#/premium/usage' },
  { name: 'premium-subusers', path: '#/premium/subusers' },
  {
    name: 'premium-subuser',
    path: '#/premium/subusers',
    prepare: (page) => page.getByRole('table').getByRole('link').last().click(),
  },
  { name: 'vpn', path: '#/vpn' },
  {
    name: 'vpn-setup',
    path: '#/vpn',
    prepare: (page) =>
      page
        .getByRole('button', { name: /^(Set up|Настроить)/ })
        .first()
        .click(),
  },
  {
    name: 'bought-dedicated',
    path: '#/dedicated/buy',
    prepare: async (page) => {
      await page.getByRole('button', { name: /^(Buy for|Купить за)/ }).click()
      await page.locator('pre').first().waitFor()
    },
  },
  {
    name: 'bought-vpn',
    path: '#/vpn',
    prepare: (page) => page.getByRole('button', { name: /^(Buy for|Купить за)/ }).click(),
  },
  {
    name: 'bought-traffic',
    path: '#/premium',
    prepare: (page) => page.getByRole('button', { name: /^(Buy for|Купить за)/ }).click(),
  },
  {
    name: 'bought-term',
    path: '#/dedicated/1',
    prepare: async (page) => {
      await page.getByRole('button', { name: /^(Prolong|Продлить)$/ }).click()
      await page.getByRole('button', { name: /^(Prolong for|Продлить за)/ }).click()
    },
  },
  {
    name: 'dedicated-filter',
    path: '#/dedicated',
    prepare: async (page) => {
      await page.getByLabel(/^(Country|Страна)$/).selectOption('DE')
      await page.getByRole('button', { name: /^(Save this filter|Сохранить фильтр)$/ }).click()
      await page.getByRole('dialog').getByRole('textbox').fill('Berlin')
      await page.getByRole('dialog').locator('button[type=submit]').click()
      await page.getByRole('button', { name: 'Berlin', exact: true }).waitFor()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    },
  },
  {
    name: 'dedicated-check',
    path: '#/dedicated',
    prepare: async (page) => {
      await page.getByLabel(/^(Select all|Выбрать все)$/).check()
      await page
        .getByRole('toolbar')
        .getByRole('button', { name: /^(Check|Проверить)$/ })
        .click()
      const check = page.getByRole('dialog').getByRole('button', { name: /^(Check all|Проверить все)$/ })
      await check.click()
      await page
        .getByRole('dialog')
        .getByText(/^(\d+ work, |Работают: )/)
        .waitFor()
    },
  },
  {
    name: 'dedicated-undo',
    path: '#/dedicated',
    prepare: async (page) => {
      await page
        .getByLabel(/^(Select|Выбрать) \d/)
        .first()
        .check()
      await page
        .getByRole('toolbar')
        .getByRole('button', { name: /^(Comment|Комментарий)$/ })
        .click()
      await page.getByRole('dialog').getByRole('textbox').fill('Berlin')
      await page.getByRole('dialog').locator('button[type=submit]').click()
      await page.getByRole('button', { name: /^(Undo|Отменить)$/ }).waitFor()
    },
  },
  {
    name: 'palette',
    path: '#/',
    prepare: async (page) => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox').fill('vpn')
      await page.getByRole('option').first().waitFor()
    },
  },
  { name: 'orders', path: '#/orders' },
  {
    name: 'order',
    path: '#/orders',
    prepare: (page) => page.getByRole('table').locator('a[href^="#/orders/"]').first().click(),
  },
  { name: 'money', path: '#/money' },
  {
    name: 'money-code',
    path: '#/money',
    prepare: async (page) => {
      await openPayForm(page)
      await page.getByLabel(/^(Promo code|Промокод)/).fill('GIFT')
      await page.getByRole('alert').waitFor()
    },
  },
  {
    name: 'money-paying',
    path: '#/money',
    prepare: async (page) => {
      await openPayForm(page)
      await page.getByLabel(/^(Payment method|Способ оплаты)$/).selectOption('sandbox')
      await page
        .getByRole('button', { name: /^(Pay|Оплатить)$/ })
        .first()
        .click()
      await page.locator('a[href*="/pay/"]').first().waitFor()
    },
  },
  { name: 'events', path: '#/events' },
  { name: 'api', path: '#/api' },
  { name: 'account', path: '#/account' },
  {
    name: 'refused',
    path: '#/premium/access',
    prepare: async (page) => {
      await page.locator('form input').first().fill('not an address')
      await page.keyboard.press('Enter')
      await page.getByRole('alert').waitFor()
    },
  },
]

/** Pages of a customer who has bought nothing. */
export const ofNewcomers: readonly Scene[] = [
  { name: 'first-steps', path: '#/' },
  { name: 'empty-dedicated', path: '#/dedicated' },
  { name: 'empty-premium', path: '#/premium' },
  { name: 'empty-usage', path: '#/premium/usage' },
  { name: 'empty-vpn', path: '#/vpn' },
  { name: 'empty-orders', path: '#/orders' },
  { name: 'empty-money', path: '#/money' },
  { name: 'empty-events', path: '#/events' },
  { name: 'not-found', path: '#/nowhere' },
]

/** Pages of the operator's console. */
export const ofOperators: readonly Scene[] = [
  { name: 'operator-overview', path: '#/' },
  { name: 'operator-activity', path: '#/activity' },
  { name: 'operator-orders', path: '#/orders' },
  { name: 'operator-customers', path: '#/customers' },
  {
    name: 'operator-customer',
    path: '#/customers',
    prepare: (page) => page.getByRole('table').getByRole('link').first().click(),
  },
  {
    name: 'operator-note',
    path: '#/customers',
    prepare: async (page) => {
      await page.getByRole('table').getByRole('link').first().click()
      await page.getByRole('button', { name: /^(Note|Заметка)$/ }).click()
      await page.getByRole('dialog').getByRole('textbox').fill('Pays by invoice')
      await page.getByRole('dialog').locator('button[type=submit]').click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    },
  },
  {
    name: 'operator-order',
    path: '#/customers',
    prepare: async (page) => {
      await page.getByRole('table').getByRole('link').first().click()
      await page.locator('a[href^="#/orders/"]').nth(1).click()
    },
  },
  { name: 'operator-proxy', path: '#/proxies/1' },
  {
    name: 'operator-vpn',
    path: '#/customers',
    prepare: async (page) => {
      await page.getByRole('table').getByRole('link').first().click()
      await page.locator('a[href^="#/vpn/"]').first().click()
    },
  },
  {
    name: 'operator-abuse',
    path: '#/abuse',
    prepare: async (page, shop) => {
      type Held = { readonly data: { readonly proxies: readonly { readonly id: number; readonly exit_ip: string }[] } }
      const { data } = (await shop.get('/dedicated/list')) as Held
      const first = data.proxies.toSorted((a, b) => a.id - b.id)[0]
      const [address, from, , reason] = await page.locator('form input').all()
      await address?.fill(first?.exit_ip ?? '')
      await from?.fill(new Date(shop.clock.nowMs - dayMs).toISOString().slice(0, 16))
      await reason?.fill('Complaint 17')
      await page.keyboard.press('Enter')
      await page.getByRole('table').waitFor()
    },
  },
  {
    name: 'operator-stock',
    path: '#/stock',
    prepare: async (page) => {
      await page.locator('form input').fill('127.10.0.0/24')
      await page.keyboard.press('Enter')
    },
  },
  { name: 'operator-prices', path: '#/prices' },
  {
    name: 'operator-price-changes',
    path: '#/prices',
    prepare: async (page) => {
      await page.getByText('JSON', { exact: true }).click()
      const editor = page.locator('textarea')
      const text = await editor.inputValue()
      const dearer = text.replace('"1": 299', '"1": 319').replace('"per_gb": 320', '"per_gb": 310')
      await editor.fill(dearer.replace('"per_day": 6', '"per_day": 7'))
      await page.getByRole('button', { name: /^(Show changes|Показать изм)/ }).click()
      await page.locator('.changes').waitFor()
    },
  },
  { name: 'operator-network', path: '#/network' },
  { name: 'operator-node', path: '#/network/stock-gateway' },
  { name: 'operator-setup', path: '#/setup' },
  { name: 'operator-alerts', path: '#/alerts' },
  { name: 'operator-mailings', path: '#/mailings' },
  { name: 'operator-brand', path: '#/brand' },
  {
    name: 'operator-refund',
    path: '#/orders',
    prepare: async (page) => {
      await page
        .getByRole('table')
        .getByRole('button', { name: /^(Refund|Вернуть)/ })
        .first()
        .click()
      await page.getByRole('dialog').locator('button[type=submit]').waitFor()
    },
  },
  {
    name: 'operator-palette',
    path: '#/',
    prepare: async (page) => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox').fill('anoth')
      await page.getByRole('option').first().waitFor()
    },
  },
  { name: 'operator-search', path: '#/search' },
  {
    name: 'operator-exit',
    path: '#/network',
    prepare: async (page) => {
      await page.getByRole('button', { name: /^(Add an exit|Добавить выход)$/ }).click()
      await page.getByRole('dialog').locator('input').first().waitFor()
    },
  },
  {
    name: 'operator-verify',
    path: '#/verify',
    prepare: async (page) => {
      const result = page.locator('.notice')
      const none = page.getByText(/^(Not verified since the shop started|С запуска магазина сверки не было)$/)
      await result.or(none).first().waitFor()
      // On SQLite a second run within 10 minutes is refused; the result of the first one stays.
      if (await none.isVisible()) await page.getByRole('button', { name: /^(Verify now|Сверить сейчас)$/ }).click()
      await result.waitFor()
    },
  },
  { name: 'operator-payments', path: '#/payments' },
  { name: 'operator-codes', path: '#/payments/codes' },
  {
    name: 'operator-code',
    path: '#/payments/codes',
    prepare: async (page) => {
      await page.getByRole('button', { name: /^(Create a promo code|Создать промокод)$/ }).click()
      await page.getByRole('dialog').locator('input').first().waitFor()
    },
  },
  { name: 'operator-providers', path: '#/payments/providers' },
  { name: 'operator-reports', path: '#/reports' },
  { name: 'operator-audit', path: '#/audit' },
  { name: 'operator-operators', path: '#/operators' },
  { name: 'operator-account', path: '#/account' },
]
