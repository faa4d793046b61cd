import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { CustomerId } from '../../src/core/ids.ts'
import type { DomainEvent } from '../../src/domains/events/rules.ts'
import { engines } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { type SmtpServer, startSmtp, textOf } from '../harness/smtp.ts'
import { runJson, testDatabaseEnv } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

/** The value of a header, with its folded lines joined. */
const headerOf = (letter: string, name: string): string =>
  new RegExp(`^${name}: (.*(?:\\r?\\n[ \\t].*)*)`, 'im')
    .exec(letter)?.[1]
    ?.replace(/\r?\n[ \t]/g, ' ')
    .trim() ?? ''

describe.each([...engines])('notices by e-mail on %s', (engine) => {
  let smtp: SmtpServer
  let service: Service
  let count = 0
  beforeAll(async () => {
    const started = await startSmtp()
    if (!started) throw new Error('there is no aiosmtpd: install python3-aiosmtpd')
    smtp = started
    service = await startService(engine, {
      TURNPIKE_SMTP_URL: smtp.url,
      TURNPIKE_MAIL_FROM: 'shop@example.com',
      TURNPIKE_NOTICES_PER_DAY: '2',
    })
    service.clock.nowMs = Date.UTC(2027, 0, 10, 9)
  })
  afterAll(async () => {
    await service?.stop()
    await smtp?.stop()
  })

  /** A customer with an e-mail address, and with the letters to it. */
  async function newReader(roubles = 0n) {
    const { db, identities } = service.services
    count += 1
    const email = `anna${count}@example.com`
    const { customer, token } = await service.newCustomer(roubles)
    const owner = { kind: 'customer', id: customer } as const
    await db.transact((tx) => identities.create(tx, owner, { login: email, email, password: null, isConfirmed: true }))
    const choose = (kinds: readonly string[], language = 'en') =>
      service.post('/notices', { kinds, language }, { token })
    const letters = () => smtp.letters().filter((each) => headerOf(each, 'To') === email)
    return { customer, token, email, choose, letters }
  }
  const note = (customer: CustomerId, type: DomainEvent['type'], data: DomainEvent['data']) =>
    service.services.db.transact((tx) =>
      service.services.events.note(tx, [{ customer, type, order: null, subject: null, data }]),
    )
  const endOf = (id: number): DomainEvent['data'] => ({
    proxy_id: id,
    ip: `203.0.113.${id}`,
    days: 3,
    expires_at: '2027-01-13T09:00:00.000Z',
    renews: id === 1,
  })
  /** Collects and sends what is due, from two shops at once. */
  async function pass(): Promise<void> {
    const { notices } = service.services
    await Promise.all([notices.collect(100), notices.collect(100)])
    while ((await Promise.all([notices.sendDue(5), notices.sendDue(5)])).some((sent) => sent > 0));
  }

  test('a customer gets no letter before choosing, and then one in Russian with 3 proxies that end together', async () => {
    const { customer, choose, letters } = await newReader()
    await note(customer, 'proxy.expiring', endOf(9))
    const { data } = await choose(['expiry', 'price'], 'ru')
    expect(data).toMatchObject({ kinds: ['expiry', 'price'], language: 'ru', available: true, per_day: 2 })
    for (const id of [1, 2]) await note(customer, 'proxy.expiring', endOf(id))
    await note(customer, 'traffic.low', { product: 'vpn', percent: 80, left_gb: 1, uuid: 'x' })
    await pass()
    service.clock.advance(minuteMs)
    await note(customer, 'proxy.expiring', endOf(3))
    await pass()
    expect(letters()).toEqual([])
    service.clock.advance(minuteMs)
    await pass()
    await pass()
    expect(letters()).toHaveLength(1)
    const [letter = ''] = letters()
    const text = textOf(letter)
    expect(text).toContain('Прокси 1 (203.0.113.1) закончится 13 января 2027 г. в 09:00 UTC. Автопродление включено.')
    expect([...text.matchAll(/Прокси \d/g)].join()).toBe('Прокси 1,Прокси 2,Прокси 3')
    expect(text).toContain('Баланс: 0,00 ₽.')
    expect(headerOf(letter, 'List-Unsubscribe-Post')).toBe('List-Unsubscribe=One-Click')
    expect(headerOf(letter, 'Message-ID')).toMatch(/^<ltr_\w{26}@127\.0\.0\.1>$/)
    expect(text).toContain(headerOf(letter, 'List-Unsubscribe').slice(1, -1))
  })

  test('a POST without a session to the link of a letter ends its kind, a GET, a forged link and one after an erasure change nothing', async () => {
    const { customer, token, choose, letters } = await newReader()
    await choose(['expiry', 'traffic'])
    await note(customer, 'proxy.expired', endOf(4))
    await pass()
    service.clock.advance(2 * minuteMs)
    await pass()
    const url = headerOf(letters()[0] ?? '', 'List-Unsubscribe').slice(1, -1)
    const chosen = async () => (await service.get('/notices', { token })).data.kinds
    const page = await fetch(url, { headers: { 'Accept-Language': 'ru' } })
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<form method="post">')])
    const last = url.at(-1) === 'A' ? 'B' : 'A'
    expect((await fetch(`${url.slice(0, -5)}${last.repeat(5)}`, { method: 'POST' })).status).toBe(404)
    expect((await fetch(new URL('/unsubscribe/x', url), { method: 'POST' })).status).toBe(404)
    expect(await chosen()).toEqual(['expiry', 'traffic'])
    const body = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' })
    for (let times = 0; times < 2; times += 1) expect((await fetch(url, { method: 'POST', body })).status).toBe(200)
    expect(await chosen()).toEqual(['traffic'])
    await note(customer, 'proxy.expired', endOf(5))
    await pass()
    service.clock.advance(2 * minuteMs)
    await pass()
    expect(letters()).toHaveLength(1)
    const { erasing, db } = service.services
    await erasing.erase(customer, { by: 'operator', isConfirmed: () => true })
    expect((await fetch(url, { method: 'POST', body })).status).toBe(200)
    expect(await db.all('SELECT * FROM notice_choices WHERE customer_id = $1', [customer])).toEqual([])
  })

  test('a customer gets 2 letters a day with TURNPIKE_NOTICES_PER_DAY=2, and the next day one with the rest', async () => {
    const { customer, choose, letters } = await newReader(1000n)
    await choose(['balance', 'receipt', 'expiry'])
    const events = ['proxy.expired', 'balance.low', 'order.refunded', 'order.refunded'] as const
    for (const type of events) {
      await note(customer, type, { ...endOf(6), threshold_rub: 500, balance_rub: 499.5, amount_rub: 1200 })
      await pass()
      service.clock.advance(2 * minuteMs)
      await pass()
    }
    expect(letters().map((each) => headerOf(each, 'Subject'))).toEqual([
      'Services end soon or have ended',
      'Your balance is low',
    ])
    expect(textOf(letters()[1] ?? '')).toContain('Your balance is 499.50 RUB, below 500.00 RUB.')
    service.clock.nowMs = Date.UTC(2027, 0, 11) - 1
    await pass()
    expect(letters()).toHaveLength(2)
    service.clock.advance(1)
    await pass()
    expect(letters()).toHaveLength(3)
    expect([...textOf(letters()[2] ?? '').matchAll(/Refund of an order: 1,200\.00 RUB\./g)]).toHaveLength(2)
  })

  test('a letter that waits is sent with the template that the operator changed meanwhile', async () => {
    const { notices } = service.services
    const { customer, choose, letters } = await newReader()
    await choose(['balance'])
    await note(customer, 'balance.low', { threshold_rub: 500, balance_rub: 1 })
    await pass()
    await notices.setTemplate('balance', 'en', { subject: 'Top up', text: '{items} {unsubscribe_url} {items}' })
    service.clock.advance(2 * minuteMs)
    await pass()
    expect(headerOf(letters()[0] ?? '', 'Subject')).toBe('Top up')
    expect(textOf(letters()[0] ?? '')).toMatch(/^Your balance is 1\.00 .* http\S+ Your balance is 1\.00 /)
    await notices.resetTemplate('balance', 'en')
  })

  test('a letter whose shop died is sent after 5 minutes, and events older than a day cause none', async () => {
    const { db } = service.services
    const { customer, choose, letters } = await newReader()
    await choose(['expiry'])
    await note(customer, 'proxy.expired', endOf(7))
    await pass()
    service.clock.advance(2 * minuteMs)
    const leaseUntil = service.clock.nowMs + 5 * minuteMs
    await db.transact((tx) =>
      tx.run(`UPDATE notice_letters SET lease = 'dead', lease_until = $2, tries = 1 WHERE customer_id = $1`, [
        customer,
        leaseUntil,
      ]),
    )
    await pass()
    expect(letters()).toEqual([])
    service.clock.nowMs = leaseUntil
    await pass()
    expect(letters()).toHaveLength(1)
    await note(customer, 'proxy.expired', endOf(8))
    service.clock.advance(dayMs + 1)
    await pass()
    service.clock.advance(2 * minuteMs)
    await pass()
    expect(letters()).toHaveLength(1)
  })

  test('POST /notices refuses an account without an e-mail address and an unknown kind, and changes nothing', async () => {
    const { token } = await service.newCustomer()
    const refused = await service.post('/notices', { kinds: ['expiry'], language: 'en' }, { token })
    expect([refused.status, refused.error.reason]).toEqual([409, 'notices_no_address'])
    const { choose } = await newReader()
    expect((await choose(['everything'])).status).toBe(400)
    expect((await choose(['expiry'], 'de')).status).toBe(400)
    const { data } = await service.get('/notices', { token })
    expect(data).toMatchObject({ kinds: ['message'], language: null, address: null })
  })

  test('a message reaches each of 2 customers once, with a report of 1 unsubscribed and 1 without address, and none after a stop', async () => {
    const { notices } = service.services
    const readers = [await newReader(1000n), await newReader(1000n), await newReader(1000n)] as const
    const [english, undecided, unsubscribed] = readers
    const nameless = await service.newCustomer(1000n)
    for (const { token } of [...readers, nameless]) {
      const bought = await service.post(
        '/dedicated/buy',
        { country_code: 'DE', period: 7, count: 1, ipv: 4 },
        { token },
      )
      expect(bought.status).toBe(200)
    }
    await english.choose(['message'], 'en')
    await unsubscribed.choose([])
    const audience = { product: 'dedicated', endsWithinDays: 7, node: null } as const
    const texts = { subjectEn: 'Work', textEn: 'We restart {items}.', subjectRu: 'Работы', textRu: 'Перезапуск.' }
    const { sample, ...counts } = await notices.countAudience(audience, 2)
    expect([counts, sample.length]).toEqual([{ customers: 4, noAddress: 1, unsubscribed: 1 }, 2])
    const send = async () => {
      const { id } = await notices.sendMessage(audience, texts)
      await Promise.all([notices.walk(3), notices.walk(3)])
      while ((await notices.walk(3)) > 0);
      return id
    }
    const id = await send()
    await pass()
    await pass()
    expect((await notices.loadMailing(id)).letters).toEqual({
      waiting: 0,
      sent: 2,
      failed: 0,
      unsubscribed: 1,
      no_address: 1,
    })
    const [letter = ''] = english.letters()
    expect([english.letters().length, headerOf(letter, 'Subject')]).toEqual([1, 'Work'])
    expect(textOf(letter)).toStartWith('We restart {items}.\n\nhttp://')
    expect(textOf(undecided.letters()[0] ?? '')).toStartWith('Перезапуск.\n\nWe restart {items}.')
    expect([undecided.letters().length, unsubscribed.letters().length]).toEqual([1, 0])
    const url = headerOf(undecided.letters()[0] ?? '', 'List-Unsubscribe').slice(1, -1)
    expect((await fetch(url, { method: 'POST' })).status).toBe(200)
    const stopped = await send()
    expect((await notices.stopMailing(stopped)).state).toBe('stopped')
    await pass()
    const again = await send()
    await pass()
    expect([english.letters().length, undecided.letters().length]).toEqual([2, 1])
    expect((await notices.loadMailing(again)).letters).toMatchObject({ sent: 1, unsubscribed: 2 })
    service.clock.advance(31 * dayMs)
    await notices.forgetLetters(100)
    expect((await notices.loadMailing(id)).letters).toMatchObject({ sent: 2, unsubscribed: 1, no_address: 1 })
  })

  test('turnpike mailing send on the machine of the shop leaves the letters to the shop', async () => {
    const { notices } = service.services
    const env = { ...testDatabaseEnv(service.testDatabase), TURNPIKE_SMTP_URL: smtp.url }
    const texts = ['--subject-en', 'Work', '--text-en', 'We restart.', '--subject-ru', 'Работы', '--text-ru', 'Скоро.']
    const sent = await runJson(['mailing', 'send', ...texts], env)
    expect([sent.exit, sent.err]).toEqual([0, ''])
    const { mailing } = await notices.loadMailing(sent.json.mailing_id)
    expect(mailing).toMatchObject({ subjectEn: 'Work', state: 'walking' })
    await notices.stopMailing(mailing.id)
  })

  test('a letter is tried again for 2 days while the mail server is down, and then given up', async () => {
    const { db } = service.services
    const { customer, choose } = await newReader()
    await choose(['receipt'])
    await note(customer, 'payment.paid', { payment_id: 'pay_1', amount_rub: 100 })
    await pass()
    service.clock.advance(2 * minuteMs)
    await smtp.stop()
    const letter = () =>
      db.first<{ state: string; tries: bigint; next_at: bigint }>(
        'SELECT state, tries, next_at FROM notice_letters WHERE customer_id = $1',
        [customer],
      )
    const begunAt = service.clock.nowMs
    for (let tries = 1; tries <= 8; tries += 1) {
      await service.services.notices.sendDue(5)
      expect(await letter()).toMatchObject({ state: tries < 8 ? 'waiting' : 'failed', tries: BigInt(tries) })
      service.clock.nowMs = Number((await letter())?.next_at)
    }
    expect(service.clock.nowMs - begunAt).toBeGreaterThan(40 * 60 * minuteMs)
    service.clock.advance(31 * dayMs)
    expect(await service.services.notices.forgetLetters(100)).toBeGreaterThan(0)
    expect(await findingsOf(service.services)).toEqual([])
  })
})
