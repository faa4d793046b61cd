import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, BrowserContext, Locator, Page, Route } from 'playwright-core'
import { HandClock, runtimeWith } from '../harness/clock.ts'
import { customerLink } from '../harness/console-links.ts'
import { engines } from '../harness/database.ts'
import { createDice } from '../harness/dice.ts'
import { isLong, scaled } from '../harness/scale.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { openVisitor, shown } from './visitor.ts'

/** The sequence of forms and interruptions; another one reproduces or explores another sequence. */
const seed = Number(process.env['TURNPIKE_TEST_SEED'] ?? 29)
const isCharging =
  /\/api\/v1\/(?:dedicated\/(?:buy|prolong|replace)|premium\/traffic\/buy|vpn\/(?:buy|renew)|payments)$/

type Transaction = { readonly kind: string; readonly amount_rub: number; readonly order_id: string | null }

/** A form that charges, and how the page shows that it succeeded. */
type Form = {
  readonly path: string
  /** The movement of money that it makes, if any. */
  readonly kind: 'charge' | 'credit' | undefined
  readonly fill: (page: Page) => Promise<void>
  readonly submit: (page: Page) => Locator
  readonly seeDone: (page: Page) => Promise<void>
  /** The page shows an interrupted request as a notice; without it, the form's own page shows the outcome. */
  readonly hasNotice: boolean
  /** Steps after the form, such as the payment. */
  readonly finish?: (page: Page) => Promise<void>
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true }).first()
const buyButton = (page: Page) => button(page, /^Buy for/)
const outcomeShown = (page: Page) => page.getByRole('heading', { name: /^Renewed until|prolonged for/ }).waitFor()
const dialogGone = (page: Page) => page.getByRole('dialog').waitFor({ state: 'detached' })

describe.each([...engines])('interrupted charges in the console on %s', (engine) => {
  const clock = new HandClock(Date.now())
  let shop: Service
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let token: string
  let proxy: number
  beforeAll(async () => {
    ;[shop, browser] = await Promise.all([startService(engine, {}, runtimeWith(clock)), openChromium()])
    ;({ token } = await shop.newCustomer(1_000_000n))
    await shop.post('/vpn/buy', { period: 1, name: 'Phone' }, { token })
    proxy = await buyProxy()
    ;({ context, page } = await openVisitor(browser, shop.url))
    await page.goto(await customerLink(shop, token))
    await shown(page.getByRole('heading', { name: 'Overview', exact: true }))
  }, readyWithinMs)
  afterAll(async () => {
    await browser?.close()
    await shop?.stop()
  })

  async function buyProxy(): Promise<number> {
    const { data } = await shop.post('/dedicated/buy', { country_code: 'DE', period: 30, count: 1, ipv: 4 }, { token })
    return data.proxies[0].id
  }
  const open = (path: string) => page.goto(`${shop.url}/#${path}`)
  const text = (words: string) => shown(page.getByText(words).first())
  const press = (name: string) => button(page, name).click()
  const transactions = async (): Promise<readonly Transaction[]> =>
    (await shop.get('/transactions?limit=500', { token })).data.transactions
  const payments = async (): Promise<readonly { readonly status: string }[]> =>
    (await shop.get('/payments?limit=100', { token })).data.payments
  const exitOf = async (id: number): Promise<string> =>
    (await shop.get('/dedicated/list?limit=500', { token })).data.proxies.find((each: { id: number }) => each.id === id)
      .exit_ip

  /** Pays the only open payment on the shop's own payment page. */
  async function payOpen(): Promise<void> {
    expect((await payments()).filter((each) => each.status === 'pending')).toHaveLength(1)
    const opening = context.waitForEvent('page')
    await page.getByRole('link', { name: 'Open the payment page' }).click()
    const paying = await opening
    await paying.getByRole('button', { name: 'Pay', exact: true }).click()
    await shown(paying.getByRole('link', { name: /^Back to/ }))
    await paying.close()
    await text('was added to your balance')
  }

  /** A fresh proxy for each replacement: a proxy is replaced once a day. */
  async function toReplace(): Promise<Form> {
    const id = await buyProxy()
    const before = await exitOf(id)
    const isReplaced = async () => (await exitOf(id)) !== before
    return {
      path: `/dedicated/${id}`,
      kind: undefined,
      hasNotice: false,
      fill: (on) => button(on, 'Replace the address').click(),
      submit: (on) => on.getByRole('dialog').getByRole('button', { name: 'Replace the address', exact: true }),
      seeDone: dialogGone,
      async finish() {
        expect(await isReplaced()).toBeTrue()
        const { data } = await shop.get('/events?type=proxy.replaced&limit=500', { token })
        expect(
          data.events.filter((each: Event) => each.type === 'proxy.replaced' && each.data.proxy_id === id),
        ).toHaveLength(1)
      },
    }
  }
  type Event = { readonly type: string; readonly data: { readonly proxy_id?: number } }

  const forms: Readonly<Record<string, (turn: number) => Form | Promise<Form>>> = {
    'buy traffic': () => ({
      path: '/premium',
      kind: 'charge',
      hasNotice: true,
      fill: (on) => on.getByLabel('Gigabytes').fill('0.5'),
      submit: buyButton,
      seeDone: (on) => shown(on.getByText('Added 0.5 GB')),
    }),
    'buy proxies': () => ({
      path: '/dedicated/buy',
      kind: 'charge',
      hasNotice: true,
      fill: (on) => shown(on.getByText('Per proxy')),
      submit: buyButton,
      seeDone: (on) => shown(on.getByRole('heading', { name: 'Your proxies are ready' })),
    }),
    'buy VPN': (turn) => ({
      path: '/vpn',
      kind: 'charge',
      hasNotice: true,
      fill: (on) => on.getByLabel('Name of the first device').fill(`Device ${turn}.`),
      submit: buyButton,
      seeDone: (on) => shown(on.getByText(`Device ${turn}.`)),
    }),
    'renew VPN': () => ({
      path: '/vpn',
      kind: 'charge',
      hasNotice: true,
      fill: (on) => button(on, 'Renew').click(),
      submit: (on) => button(on, /^Renew for/),
      seeDone: outcomeShown,
    }),
    'prolong a proxy': () => ({
      path: `/dedicated/${proxy}`,
      kind: 'charge',
      hasNotice: true,
      fill: (on) => button(on, 'Prolong').click(),
      submit: (on) => button(on, /^Prolong for/),
      seeDone: outcomeShown,
    }),
    'replace an address': toReplace,
    'top up': () => ({
      path: '/money',
      kind: 'credit',
      hasNotice: false,
      fill: async (on) => {
        const another = on.getByRole('button', { name: 'Another payment' })
        if ((await another.count()) > 0) await another.click()
        await on.getByLabel('Amount').fill('1000')
      },
      submit: (on) => button(on, 'Pay'),
      seeDone: (on) => shown(on.getByRole('link', { name: 'Open the payment page' })),
      finish: payOpen,
    }),
  }

  /** Presses the button and stops the request: after the shop has executed it, or before it reaches the shop. */
  async function stopRequest(form: Form, isExecuted: boolean): Promise<Route> {
    const stopped = Promise.withResolvers<Route>()
    let isOver = false
    await context.route(isCharging, async (route) => {
      if (isOver || route.request().method() !== 'POST') return route.fallback()
      isOver = true
      if (isExecuted) await route.fetch()
      stopped.resolve(route)
    })
    await form.submit(page).click()
    return stopped.promise
  }

  /** The page that comes back shows the outcome, or the customer sends the same request again. */
  async function seeOutcome(form: Form, isExecuted: boolean): Promise<void> {
    if (!form.hasNotice) return seeOnForm(form, isExecuted)
    if (!isExecuted) await press('Ask again')
    await text('It succeeded')
    await press('Close')
    await page.getByText('It succeeded').waitFor({ state: 'detached' })
  }

  async function seeOnForm(form: Form, isExecuted: boolean): Promise<void> {
    await open(form.path)
    await page.reload()
    if (!isExecuted) {
      await form.fill(page)
      await form.submit(page).click()
    }
    if (form.kind === 'credit' || !isExecuted) await form.seeDone(page)
  }

  /** The customer presses the button again after a lost answer. A payment that was begun is shown without that. */
  async function repeat(form: Form, isExecuted: boolean): Promise<void> {
    if (form.kind === 'credit' && isExecuted) return form.seeDone(page)
    await text('The shop did not answer')
    await form.submit(page).click()
    await form.seeDone(page)
  }

  /** Each returns with the request executed once and its outcome seen. */
  const interruptions: Readonly<Record<string, (form: Form, isExecuted: boolean) => Promise<void>>> = {
    'lost answer': async (form, isExecuted) => {
      const route = await stopRequest(form, isExecuted)
      await route.abort()
      await repeat(form, isExecuted)
    },
    reload: async (form, isExecuted) => {
      await stopRequest(form, isExecuted)
      await page.reload()
      await seeOutcome(form, isExecuted)
    },
    close: async (form, isExecuted) => {
      const route = await stopRequest(form, isExecuted)
      // A browser sends a stopped request when its page is closed.
      if (!isExecuted) await route.abort()
      await page.close()
      page = await context.newPage()
      await open('/orders')
      await seeOutcome(form, isExecuted)
    },
    'another page': async (form, isExecuted) => {
      const route = await stopRequest(form, isExecuted)
      await open('/orders')
      const answered = isExecuted ? undefined : page.waitForResponse(isCharging)
      await (isExecuted ? route.abort() : route.continue())
      await answered
      await seeOutcome(form, true)
    },
    'way back': async (form, isExecuted) => {
      await stopRequest(form, isExecuted)
      await page.goBack()
      await page.reload()
      await seeOutcome(form, isExecuted)
    },
    offline: async (form) => {
      const before = await transactions()
      // The button is enabled when the price has arrived.
      await form.submit(page).click({ trial: true })
      await context.setOffline(true)
      await form.submit(page).click()
      await text('Nothing was bought and no money was charged.')
      await context.setOffline(false)
      expect(await transactions()).toEqual(before)
      await form.submit(page).click()
      await form.seeDone(page)
      expect(await page.getByText('Nothing was bought').count()).toBe(0)
    },
    'second tab': async (form) => {
      const route = await stopRequest(form, true)
      const second = await context.newPage()
      await second.goto(`${shop.url}/#/orders`)
      await shown(second.getByRole('heading', { name: 'Orders', exact: true }))
      expect(await second.getByText('did not arrive').count()).toBe(0)
      await route.abort()
      await repeat(form, true)
      const { data } = await shop.get('/balance', { token })
      const style = { style: 'currency', currency: 'RUB', currencyDisplay: 'narrowSymbol' } as const
      await shown(second.getByText(new Intl.NumberFormat('en', style).format(data.balance_rub)).first())
      await second.close()
    },
  }

  const count = scaled(100)
  test(`each of ${count} interrupted charges (seed ${seed}) happens once, and the books agree`, async () => {
    const dice = createDice(seed)
    const pick = <Item>(items: readonly Item[]): Item => items[dice(items.length)] as Item
    const done = new Map<string, number>()
    for (let turn = 1; turn <= count; turn += 1) {
      const [name, interrupt] = pick(Object.entries(interruptions))
      const [what, toForm] = pick(Object.entries(forms))
      const isExecuted = dice(2) === 0
      try {
        // Ids of one millisecond have no order, and the money page shows the last payment.
        clock.advance(1_000)
        await context.unrouteAll()
        const form = await toForm(turn)
        const before = await transactions()
        const { data: start } = await shop.get('/balance', { token })
        await open('/orders')
        await shown(page.getByRole('heading', { name: 'Orders', exact: true }))
        await open(form.path)
        await form.fill(page)
        await interrupt(form, isExecuted)
        await form.finish?.(page)
        const made = (await transactions()).slice(0, -before.length)
        expect(made.map((each) => each.kind)).toEqual(form.kind === undefined ? [] : [form.kind])
        const { data: end } = await shop.get('/balance', { token })
        expect(end.balance_rub).toBeCloseTo(start.balance_rub + (made[0]?.amount_rub ?? 0), 2)
      } catch (error) {
        const kind = `${name}, ${isExecuted ? 'executed' : 'not executed'}, ${what}`
        throw new Error(`turn ${turn} of seed ${seed}: ${kind}`, { cause: error })
      }
      done.set(`${what}, ${name}`, (done.get(`${what}, ${name}`) ?? 0) + 1)
    }
    const { data } = await shop.get('/orders?limit=500', { token })
    const charges = (await transactions()).filter((each) => each.kind === 'charge')
    expect(new Set(charges.map((each) => each.order_id)).size).toBe(data.orders.length)
    expect(charges).toHaveLength(data.orders.length)
    expect((await payments()).filter((each) => each.status !== 'paid')).toEqual([])
    expect(await findingsOf(shop.services)).toEqual([])
    if (isLong) expect(done.size).toBeGreaterThan(30)
  })
})
