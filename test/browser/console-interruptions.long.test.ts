import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, BrowserContext, Page, Route } from 'playwright-core'
import { HandClock, runtimeWith } from '../harness/clock.ts'
import { customerLink } from '../harness/console-links.ts'
import { engines } from '../harness/database.ts'
import { createDice } from '../harness/dice.ts'
import { scaled } from '../harness/scale.ts'
import { type Service, startService } from '../harness/service.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { openVisitor, shown } from './visitor.ts'

const seed = 29
const isPurchase = /\/api\/v1\/(?:dedicated\/buy|premium\/traffic\/buy|vpn\/renew)$/

type Transaction = { readonly kind: string; readonly amount_rub: number; readonly order_id: string | null }
type Form = { readonly path: string; fill(page: Page): Promise<void>; press(page: Page): Promise<void>; bought: string }

const pressBuy = (page: Page) => page.getByRole('button', { name: /^Buy for/ }).click()

/** A form of each product, and an element that appears after its purchase. */
const forms: readonly Form[] = [
  {
    path: '/premium',
    fill: (page) => page.getByLabel('Gigabytes').fill('0.5'),
    press: pressBuy,
    bought: 'text=Added 0.5 GB',
  },
  {
    path: '/dedicated/buy',
    fill: (page) => page.getByText('Per proxy').waitFor(),
    press: pressBuy,
    bought: 'h1:has-text("Your proxies are ready")',
  },
  {
    path: '/vpn',
    fill: (page) => page.getByRole('button', { name: 'Renew', exact: true }).click(),
    press: (page) => page.getByRole('button', { name: /^Renew for/ }).click(),
    bought: 'body:not(:has([role="dialog"]))',
  },
]

describe.each([...engines])('interrupted purchases in the console on %s', (engine) => {
  let shop: Service
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let token: string
  beforeAll(async () => {
    const runtime = runtimeWith(new HandClock(Date.now()))
    ;[shop, browser] = await Promise.all([startService(engine, {}, runtime), openChromium()])
    ;({ token } = await shop.newCustomer(1_000_000n))
    await shop.post('/vpn/buy', { period: 1, name: 'Phone' }, { token })
    ;({ context, page } = await openVisitor(browser, shop.url))
    await page.goto(await customerLink(shop, token))
    await shown(page.getByRole('heading', { name: 'Overview', exact: true }))
  }, readyWithinMs)
  afterAll(async () => {
    await browser?.close()
    await shop?.stop()
  })

  const open = (path: string) => page.goto(`${shop.url}/#${path}`)
  const text = (words: string) => shown(page.getByText(words).first())
  const press = (name: string) => page.getByRole('button', { name, exact: true }).first().click()
  const charges = async (): Promise<readonly Transaction[]> => {
    const { data } = await shop.get('/transactions?limit=500', { token })
    return data.transactions.filter((each: Transaction) => each.kind === 'charge')
  }

  /** Presses the button and stops the request: after the shop has executed it, or before it reaches the shop. */
  async function hold(form: Form, isExecuted: boolean): Promise<Route> {
    const stopped = Promise.withResolvers<Route>()
    const stop = async (route: Route) => {
      if (isExecuted) await route.fetch()
      stopped.resolve(route)
    }
    await context.route(isPurchase, stop, { times: 1 })
    await form.press(page)
    return stopped.promise
  }

  /** The page that comes back shows the outcome, or asks before it sends the same request again. */
  async function seeOutcome(isExecuted: boolean): Promise<void> {
    if (!isExecuted) await press('Ask again')
    await text('It succeeded')
    await press('Close')
    await page.getByText('It succeeded').waitFor({ state: 'detached' })
  }

  /** Each returns with the purchase made and its outcome seen. */
  const interruptions: Readonly<Record<string, (form: Form, isExecuted: boolean) => Promise<void>>> = {
    'lost answer': async (form, isExecuted) => {
      const route = await hold(form, isExecuted)
      await route.abort()
      await text('The shop did not answer')
      await form.press(page)
      await shown(page.locator(form.bought))
    },
    reload: async (form, isExecuted) => {
      await hold(form, isExecuted)
      await page.reload()
      await seeOutcome(isExecuted)
    },
    close: async (form, isExecuted) => {
      await hold(form, isExecuted)
      await page.close()
      page = await context.newPage()
      await open('/orders')
      await seeOutcome(isExecuted)
    },
    'another page': async (form, isExecuted) => {
      const route = await hold(form, isExecuted)
      await open('/orders')
      if (isExecuted) await route.abort()
      else await route.continue()
      await seeOutcome(true)
    },
    offline: async (form) => {
      const before = await charges()
      await context.setOffline(true)
      await form.press(page)
      await text('Nothing was bought and no money was charged.')
      await context.setOffline(false)
      expect(await charges()).toEqual(before)
      await form.press(page)
      await shown(page.locator(form.bought))
      expect(await page.getByText('Nothing was bought').count()).toBe(0)
    },
    'second tab': async (form) => {
      const route = await hold(form, true)
      const second = await context.newPage()
      await second.goto(`${shop.url}/#/orders`)
      await shown(second.getByRole('heading', { name: 'Orders', exact: true }))
      expect(await second.getByText('did not arrive').count()).toBe(0)
      await route.abort()
      await text('The shop did not answer')
      await form.press(page)
      await shown(page.locator(form.bought))
      const { data } = await shop.get('/balance', { token })
      const style = { style: 'currency', currency: 'RUB', currencyDisplay: 'narrowSymbol' } as const
      await shown(second.getByText(new Intl.NumberFormat('en', style).format(data.balance_rub)).first())
      await second.close()
    },
  }

  const count = scaled(100)
  test(`each of ${count} interrupted purchases is charged once, and the ledger has no other charge`, async () => {
    const dice = createDice(seed)
    const pick = <Item>(items: readonly Item[]): Item => items[dice(items.length)] as Item
    const atStart = await charges()
    const { data: start } = await shop.get('/balance', { token })
    for (let turn = 1; turn <= count; turn += 1) {
      const [name, interrupt] = pick(Object.entries(interruptions))
      const [form, isExecuted] = [pick(forms), dice(2) === 0]
      try {
        await open('/orders')
        await shown(page.getByRole('heading', { name: 'Orders', exact: true }))
        await open(form.path)
        await form.fill(page)
        await interrupt(form, isExecuted)
        expect(await charges()).toHaveLength(atStart.length + turn)
      } catch (error) {
        const kind = `${name}, ${isExecuted ? 'executed' : 'not executed'}, ${form.path}`
        throw new Error(`turn ${turn} of seed ${seed}: ${kind}`, { cause: error })
      }
    }
    const made = (await charges()).slice(0, count)
    expect(new Set(made.map((each) => each.order_id)).size).toBe(count)
    const spent = made.reduce((sum, each) => sum - each.amount_rub, 0)
    const { data: end } = await shop.get('/balance', { token })
    expect(end.balance_rub).toBeCloseTo(start.balance_rub - spent, 2)
    const { data: orders } = await shop.get('/orders?limit=500', { token })
    expect(orders.orders).toHaveLength(atStart.length + count)
  })
})
