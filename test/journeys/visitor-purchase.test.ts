import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Refusal } from '../../src/core/refusal.ts'
import { engines } from '../harness/database.ts'
import { createDice } from '../harness/dice.ts'
import { scaled } from '../harness/scale.ts'
import { type Service, startService } from '../harness/service.ts'
import { type SmtpServer, startSmtp, textOf } from '../harness/smtp.ts'

const order = 'product=dedicated&ipv=4&country=DE&period=30&count=1'

/** A browser without JavaScript: it keeps cookies and sends forms. */
class PlainBrowser {
  readonly cookies = new Map<string, string>()
  constructor(
    readonly url: string,
    readonly from: string,
  ) {}

  /** `isLost`: the answer never arrives, so its cookies are not kept. */
  async send(path: string, form?: Record<string, string>, isLost = false): Promise<{ status: number; text: string }> {
    const answer = await fetch(this.url + path, {
      redirect: 'manual',
      headers: {
        'Accept-Language': 'en',
        'X-Forwarded-For': this.from,
        Cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(form && { Origin: this.url }),
      },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const each of isLost ? [] : answer.headers.getSetCookie()) {
      const [name = '', value = ''] = each.split(';')[0]?.split('=') ?? []
      this.cookies.set(name, value)
    }
    return { status: answer.status, text: await answer.text() }
  }
}

const reasonOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => (error instanceof Refusal ? error.reason : error),
  )

const payUrlIn = (text: string): string | undefined =>
  /class="button" href="(?:https?:\/\/[^/"]+)(\/pay\/[^"?]+)/.exec(text)?.[1]

describe.each([...engines])('buying as a visitor on %s', (engine) => {
  let smtp: SmtpServer
  let service: Service
  let letters = 0
  beforeAll(async () => {
    const started = await startSmtp()
    if (!started) throw new Error('there is no aiosmtpd: install python3-aiosmtpd')
    smtp = started
    service = await startService(engine, {
      TURNPIKE_FRONT: 'on',
      TURNPIKE_REGISTRATION: 'on',
      TURNPIKE_SMTP_URL: smtp.url,
      TURNPIKE_MAIL_FROM: 'shop@example.com',
      TURNPIKE_TRUSTED_PROXIES: '127.0.0.1',
    })
  })
  afterAll(async () => {
    await service?.stop()
    await smtp?.stop()
  })

  const open = (from = '192.0.2.1') => new PlainBrowser(service.url, from)
  const count = async (sql: string, ...values: string[]): Promise<number> =>
    Number((await service.services.db.first<{ count: bigint }>(sql, values))?.count)
  const customers = () => count('SELECT COUNT(*) AS count FROM customers')
  const linksTo = (email: string): string[] =>
    smtp
      .letters()
      .filter((each) => new RegExp(`^To: ${email}$`, 'm').test(each))
      .flatMap((each) => /link=(tpl_\w+)/.exec(textOf(each))?.[1] ?? [])

  /** Sends the form of the order, and waits for its letter. */
  async function ask(browser: PlainBrowser, email: string, isLost = false, more = ''): Promise<string> {
    const page = await browser.send(`/buy?${order}${more}`)
    const price = /name="price" value="(\d+)"/.exec(page.text)?.[1] ?? ''
    const ref = /name="ref" value="([^"]+)"/.exec(page.text)?.[1]
    const sent = { ...Object.fromEntries(new URLSearchParams(order)), price, email, method: 'sandbox' }
    const fields = ref === undefined ? sent : { ...sent, ref }
    const answer = await browser.send('/buy', fields, isLost)
    if (answer.status === 200) await smtp.until((letters += 1))
    return answer.text
  }
  const go = (browser: PlainBrowser, link = '', isLost = false) => browser.send('/buy/continue', { link }, isLost)

  async function expectOneOf(email: string): Promise<void> {
    const found = await service.services.identities.findByLogin('customer', email)
    const id = found?.owner.id ?? ''
    const paid = "SELECT COUNT(*) AS count FROM payments WHERE customer_id = $1 AND state = 'paid'"
    const held = 'SELECT COUNT(*) AS count FROM proxies WHERE customer_id = $1'
    const orders = 'SELECT COUNT(*) AS count FROM orders WHERE customer_id = $1'
    expect({ paid: await count(paid, id), orders: await count(orders, id), held: await count(held, id) }).toEqual({
      paid: 1,
      orders: 1,
      held: 1,
    })
  }

  test('a visitor chooses, gives an e-mail address, opens the link, pays, and has the proxy in an account', async () => {
    const before = await customers()
    const browser = open()
    const front = await browser.send('/')
    expect(front.text).toContain('href="/buy?lang=en&#38;product=dedicated&#38;ipv=4')
    // With `no-referrer`, a browser would send `Origin: null` with the form.
    const { headers } = await fetch(`${service.url}/buy?${order}`)
    expect(headers.get('referrer-policy')).toBe('same-origin')
    expect(await ask(browser, 'vera@example.com')).toContain('We have sent a link to vera@example.com')
    const [link = ''] = linksTo('vera@example.com')
    expect((await browser.send(`/buy/continue?link=${link}`)).text).toContain('Press the button')
    const page = await go(browser, link)
    const path = payUrlIn(page.text) ?? ''
    await browser.send(path, {})
    expect(await customers()).toBe(before + 1)
    await expectOneOf('vera@example.com')
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const list = await fetch(`${service.url}/api/v1/dedicated/list`, {
      headers: { Cookie: cookie, 'X-Turnpike-Console': '1' },
    })
    expect(((await list.json()) as { data: { proxies: unknown[] } }).data.proxies).toHaveLength(1)
    expect((await browser.send(`/buy?${order}`)).status).toBe(303)
  })

  test('the public page and the purchase keep the code of a referral link, whose owner gets the customer', async () => {
    const { services } = service
    await services.referrals.set({ hundredths: 1000, topUps: 1 })
    const referrer = await service.newCustomer()
    const { code } = (await service.post('/referral', {}, { token: referrer.token })).data
    // Only a customer older than the new one is a referrer.
    service.clock.advance(1000)
    const browser = open()
    const front = (await browser.send(`/?ref=${code}`)).text
    expect(front.match(/href="\/(?:account|buy)?[?"][^"]*"?/g)?.filter((each) => !each.includes(code))).toEqual([])
    expect((await browser.send('/?ref=%22%3Cb%3E')).text).not.toMatch(/[?;]ref=/)
    await ask(browser, 'brought@example.com', false, `&ref=${code}`)
    const [link = ''] = linksTo('brought@example.com')
    await go(browser, link)
    const found = await services.identities.findByLogin('customer', 'brought@example.com')
    const brought = 'SELECT COUNT(*) AS count FROM referrals WHERE customer_id = $1 AND referrer_id = $2'
    expect(await count(brought, found?.owner.id ?? '', referrer.customer)).toBe(1)
    await services.referrals.set({ hundredths: 0, topUps: 1 })
  })

  test('an address with an account gets the same answer and letter, and the purchase goes into that account', async () => {
    const email = 'known@example.com'
    const first = open('192.0.2.2')
    await ask(first, email)
    await go(first, linksTo(email)[0])
    const before = await customers()
    const stranger = open('192.0.2.3')
    const known = await ask(stranger, email)
    const unknown = await ask(stranger, 'unknown@example.com')
    expect(known.replaceAll(email, '')).toBe(unknown.replaceAll('unknown@example.com', ''))
    const textTo = (address: string) =>
      textOf(smtp.letters().findLast((each) => each.includes(`To: ${address}`)) ?? '').replace(/tpl_\w+/, '')
    expect(textTo(email)).toBe(textTo('unknown@example.com'))
    expect(await customers()).toBe(before)
    // A stranger without the letter has nothing; its link works in the owner's browser.
    const owner = open('192.0.2.4')
    const page = await go(owner, linksTo(email).at(-1))
    await owner.send(payUrlIn(page.text) ?? '', {})
    await expectOneOf(email)
  })

  test('the first letter to an address registered without one ends the password, factor, session and token of before', async () => {
    const { db, identities, signIn, customers: accounts } = service.services
    const squat = async (email: string, hasFactor: boolean) => {
      const password = await identities.hash('a stranger chose it', email, '192.0.2.30')
      const owner = await db.transact(async (tx) => {
        const { id } = await accounts.addCustomer(tx, 'A squatter')
        const of = { kind: 'customer', id } as const
        await identities.create(tx, of, { login: email, email, password, isConfirmed: false })
        if (hasFactor)
          await tx.run('UPDATE identities SET totp = $2, totp_since = 1 WHERE owner_id = $1', [id, new Uint8Array(8)])
        return of
      })
      const visitor = { source: null, clientPrefix: '192.0.2.30', agent: null, shown: [] }
      const { secret } = await db.transact((tx) => signIn.open(tx, owner, visitor))
      const { text: token } = await accounts.issueToken(owner.id, { name: 'of before' })
      expect((await service.get('/balance', { token })).status).toBe(200)
      return {
        owner,
        secret,
        token,
        signIn: () => signIn.byPassword('customer', { login: email, password: 'a stranger chose it' }, visitor),
      }
    }
    for (const hasFactor of [false, true]) {
      const email = `squatted${hasFactor}@example.com`
      const squatter = await squat(email, hasFactor)
      const browser = open('192.0.2.31')
      await ask(browser, email)
      const page = await go(browser, linksTo(email)[0])
      expect(page.text).toContain('sessions and API tokens no longer work')
      await browser.send(payUrlIn(page.text) ?? '', {})
      await expectOneOf(email)
      expect((await service.get('/balance', { token: squatter.token })).status).toBe(401)
      expect(await reasonOf(signIn.load('customer', squatter.secret))).toBe('session_invalid')
      expect(await reasonOf(squatter.signIn())).toBe('sign_in_failed')
      expect(await identities.profile(squatter.owner)).toMatchObject({ hasPassword: false, hasFactor: false })
      // The second letter finds a confirmed account, and ends nothing.
      const { text: token } = await accounts.issueToken(squatter.owner.id, { name: 'of the owner' })
      const later = open('192.0.2.32')
      await ask(later, email)
      expect((await go(later, linksTo(email).at(-1))).text).not.toContain('no longer work')
      expect((await service.get('/balance', { token })).status).toBe(200)
    }
  })

  test('a used link, a raised price, a form of another site and an unknown order are refused and charge nothing', async () => {
    const email = 'refused@example.com'
    const browser = open('192.0.2.5')
    await ask(browser, email)
    const [link = ''] = linksTo(email)
    expect((await go(browser, link)).status).toBe(200)
    const again = await go(open('192.0.2.6'), link)
    expect([again.status, payUrlIn(again.text)]).toEqual([400, undefined])
    const visitor = open('192.0.2.7')
    const fields = { ...Object.fromEntries(new URLSearchParams(order)), email, method: 'sandbox' }
    expect((await visitor.send('/buy', { ...fields, price: '1' })).text).toContain('Nothing was charged.')
    expect((await visitor.send('/buy', { ...fields, price: '99999999', method: 'gold' })).status).toBe(400)
    expect((await visitor.send('/buy?product=gold')).status).toBe(400)
    expect((await visitor.send('/buy?product=dedicated&ipv=4&country=XX&period=30&count=1')).status).toBe(400)
    const foreign = await fetch(`${service.url}/buy/continue`, {
      method: 'POST',
      headers: { Origin: 'https://elsewhere.example' },
      body: new URLSearchParams({ link }),
    })
    expect(foreign.status).toBe(400)
    expect(linksTo(email)).toHaveLength(1)
  })

  test('a link for another address than that of the session names both, and pays only after a second button', async () => {
    const [mine, theirs] = ['mine@example.com', 'theirs@example.com']
    const browser = open('192.0.2.8')
    await ask(browser, mine)
    await go(browser, linksTo(mine)[0])
    const session = browser.cookies.get('turnpike_customer')
    await ask(open('192.0.2.9'), theirs)
    const [link = ''] = linksTo(theirs)
    expect((await browser.send(`/buy/continue?link=${link}`)).text).toContain(`the account of ${theirs}`)
    const asked = await go(browser, link)
    expect([payUrlIn(asked.text), browser.cookies.get('turnpike_customer')]).toEqual([undefined, session])
    expect(asked.text).toContain(`signed in as ${mine}, but the link is for ${theirs}`)
    const page = await browser.send('/buy/continue', { link, replace: 'yes' })
    expect(payUrlIn(page.text)).toStartWith('/pay/')
    expect(browser.cookies.get('turnpike_customer')).not.toBe(session)
  })

  test('addresses of one mailbox share 3 letters, and the fourth is refused with a page and Retry-After', async () => {
    const fields = { ...Object.fromEntries(new URLSearchParams(order)), price: '99999999', method: 'sandbox' }
    for (const tag of ['', '+1', '+2']) expect(await ask(open('192.0.2.40'), `tag${tag}@example.com`)).toContain('Back')
    const refused = await open('192.0.2.40').send('/buy', { ...fields, email: 'tag+3@example.com' })
    expect([refused.status, refused.text]).toEqual([429, expect.stringContaining('<h1>This did not work</h1>')])
    expect(linksTo('tag\\+3@example.com')).toEqual([])
  })

  test('4 networks can use up the 12 letters of an address in an hour, 1 network only its own 3', async () => {
    const email = 'owner@example.com'
    const fields = { ...Object.fromEntries(new URLSearchParams(order)), price: '99999999', method: 'sandbox', email }
    const sendFrom = async (network: number) => {
      const { status, text } = await open(`198.51.${network}.7`).send('/buy', fields)
      if (status !== 200) return `${status} ${text.includes('your account, and you can order there')}`
      await smtp.until((letters += 1))
      return 'sent'
    }
    const sendAll = async (network: number) => {
      const found: string[] = []
      for (let index = 0; index < 4; index += 1) found.push(await sendFrom(network))
      return found
    }
    const ofOne = ['sent', 'sent', 'sent', '429 true']
    expect(await sendAll(1)).toEqual(ofOne)
    // The owner, in another network, has all letters of that network.
    expect(await sendAll(2)).toEqual(ofOne)
    expect([await sendAll(3), await sendAll(4)]).toEqual([ofOne, ofOne])
    expect(linksTo(email)).toHaveLength(12)
    expect(await sendFrom(5)).toBe('429 true')
    // The letters that have come open the account all the same.
    expect(payUrlIn((await go(open('198.51.5.7'), linksTo(email).at(-1))).text)).toStartWith('/pay/')
  })

  test('two letters of one order that are opened at the same moment show one payment on both pages', async () => {
    const email = 'both@example.com'
    const browser = open('192.0.2.41')
    await ask(browser, email)
    await ask(browser, email)
    const links = linksTo(email)
    const pages = await Promise.all(links.map((link, at) => go(open(`192.0.2.${42 + at}`), link)))
    const paths = pages.map(({ text }) => payUrlIn(text) ?? text)
    expect(paths).toEqual([expect.stringContaining('/pay/'), paths[0]])
  })

  test('a browser whose session has ended is a visitor again', async () => {
    const browser = open('192.0.2.10')
    const atRoot = async () => (await browser.send('/')).text.includes('id="calculator"')
    browser.cookies.set('turnpike_customer', `tps_${'a'.repeat(43)}`)
    expect([await atRoot(), (await browser.send(`/buy?${order}`)).status]).toEqual([true, 200])
    await ask(browser, 'again@example.com')
    await go(browser, linksTo('again@example.com')[0])
    expect([await atRoot(), (await browser.send(`/buy?${order}`)).status]).toEqual([false, 303])
  })

  test('1,500 proxies and a raised price are refused before a letter, in words for visitors', async () => {
    const browser = open('192.0.2.11')
    const fields = { ...Object.fromEntries(new URLSearchParams(order)), email: 'many@example.com', method: 'sandbox' }
    const many = await browser.send('/buy', { ...fields, count: '1500', price: '999999999' })
    expect([many.status, many.text]).toEqual([400, expect.stringContaining('Number: must be from 1 to 1000')])
    const raised = await browser.send('/buy', { ...fields, price: '1' })
    expect(raised.text).toContain('The price has changed. Order again for the new one: ₽171.')
    expect(linksTo('many@example.com')).toEqual([])
  })

  test('reloads, the back button, two tabs, a phone and lost answers leave one account and one charge', async () => {
    const dice = createDice(48)
    const chance = (percent: number): boolean => dice(100) < percent
    const pick = <Item>(items: readonly Item[]): Item => items[dice(items.length)] as Item
    for (let run = 0; run < scaled(100); run += 1) {
      const email = `v${run}@example.com`
      const before = await customers()
      const browsers = [open(`10.1.${run}.1`), open(`10.2.${run}.1`)]
      const [tab, phone] = browsers as [PlainBrowser, PlainBrowser]
      let payPath: string | undefined
      const note = (text: string) => void (payPath = payUrlIn(text) ?? payPath)
      const steps = [
        () => ask(tab, email, chance(30)),
        () => Promise.all([ask(tab, email), tab.send(`/buy?${order}`)]),
        async () => note((await go(pick([tab, phone]), pick(linksTo(email)), chance(40))).text),
        async () => {
          const link = pick(linksTo(email))
          for (const page of await Promise.all([go(tab, link), go(phone, link), go(tab, linksTo(email)[0])]))
            note(page.text)
        },
        async () => payPath && Promise.all([tab.send(payPath, {}), phone.send(payPath, {}, true)]),
        () => tab.send(`/buy?${order}`, undefined, chance(50)),
      ]
      await ask(tab, email)
      for (let step = 0; step < 8; step += 1) {
        await pick(steps)()
        service.clock.advance(60_000)
      }
      // At the end the visitor asks for another letter, and pays.
      for (let tries = 0; tries < 4 && (await count(paidBy, email)) === 0; tries += 1) {
        service.clock.advance(20 * 60_000)
        // A visitor who is signed in would use the console.
        tab.cookies.delete('turnpike_customer')
        await ask(tab, email)
        note((await go(tab, linksTo(email).at(-1))).text)
        if (payPath) await tab.send(payPath, {})
      }
      expect({ email, customers: await customers() }).toEqual({ email, customers: before + 1 })
      await expectOneOf(email)
    }
  })
})

const paidBy = `SELECT COUNT(*) AS count FROM payments p JOIN identities i ON i.owner_id = p.customer_id
  WHERE i.login = $1 AND p.state = 'paid'`
