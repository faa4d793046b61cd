import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash, createHmac } from 'node:crypto'
import type { PaymentId } from '../../src/core/ids.ts'
import { kopecks } from '../../src/core/money.ts'
import { failureOf } from '../harness/failure.ts'
import { type Service, startService } from '../harness/service.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'
import type { Bill, Post } from '../providers/other-side.ts'
import { type Introduced, introduce } from '../providers/shop.ts'

type Provider = 'yookassa' | 'crypto_pay' | 'platega'
// A notification is untrusted JSON; a forger may read any field of it.
// oxlint-disable-next-line typescript/no-explicit-any
type Body = any
type Case = {
  readonly name: string
  readonly provider: Provider
  /** Builds the forged notification from the provider's genuine one about an unpaid bill. */
  readonly forge: (real: Post, bill: Bill, of: Introduced) => Post & { readonly path?: string }
  /** Changes the bill at the provider first. */
  readonly before?: (bill: Bill, of: Introduced) => void
  readonly status: number
}

const withBody = (real: Post, change: (body: Body) => void): Post => {
  const body = JSON.parse(real.body)
  change(body)
  return { ...real, body: JSON.stringify(body) }
}
const signed = (token: string, body: string): Post => ({
  headers: {
    'content-type': 'application/json',
    'crypto-pay-api-signature': createHmac('sha256', createHash('sha256').update(token).digest())
      .update(body)
      .digest('hex'),
  },
  body,
})
const header = (real: Post, name: string, value: string | undefined): Post => {
  const { [name]: _, ...rest } = real.headers
  return { ...real, headers: value === undefined ? rest : { ...rest, [name]: value } }
}
const pattern = (provider: Provider, status: number, cases: readonly [string, Case['forge']][]): Case[] =>
  cases.map(([name, forge]) => ({ name, provider, forge, status }))

/**
 * The provider's notification for a paid bill, although it is not paid. A shop that believes it credits without money.
 */
const claimed = (provider: Provider, real: Post): Post =>
  withBody(real, (body: Body) => {
    if (provider === 'yookassa') {
      body.event = 'payment.succeeded'
      Object.assign(body.object, { status: 'succeeded', paid: true })
    } else if (provider === 'crypto_pay') Object.assign(body.payload, { status: 'paid' })
    else body.status = 'CONFIRMED'
  })

const yookassa: readonly Case[] = [
  ...pattern('yookassa', 200, [
    ['reports an unpaid payment as paid', (real) => claimed('yookassa', real)],
    [
      'reports an unpaid payment as paid, with a larger amount',
      (real) => withBody(claimed('yookassa', real), (body: Body) => void (body.object.amount.value = '999999.00')),
    ],
    [
      "names another customer's payment in its metadata",
      (real) =>
        withBody(claimed('yookassa', real), (body: Body) => void (body.object.metadata.payment_id = 'pay_other')),
    ],
    [
      'reports a refund as succeeded',
      (real, bill) =>
        withBody(real, (body: Body) => {
          body.event = 'refund.succeeded'
          body.object = {
            id: 'r',
            payment_id: bill.id,
            status: 'succeeded',
            amount: { value: '1.00', currency: 'RUB' },
          }
        }),
    ],
    ['is an unknown event', (real) => withBody(real, (body: Body) => void (body.event = 'payment.flew'))],
    [
      'names a payment that does not exist',
      (real) => withBody(real, (body: Body) => void (body.object.id = '00000000-0000-0000-0000-000000000000')),
    ],
    [
      'reports an open payment as canceled',
      (real) => withBody(real, (body: Body) => void (body.event = 'payment.canceled')),
    ],
  ]),
  ...pattern('yookassa', 400, [
    ['has no object', (real) => withBody(real, (body: Body) => void delete body.object)],
    ['has an object without an id', (real) => withBody(real, (body: Body) => void delete body.object.id)],
    ['has a path for an id', (real) => withBody(real, (body: Body) => void (body.object.id = '../refunds/1'))],
    ['has a list for an id', (real) => withBody(real, (body: Body) => void (body.object.id = ['a']))],
    ['has a very long id', (real) => withBody(real, (body: Body) => void (body.object.id = 'a'.repeat(5000)))],
    ['is not JSON', (real) => ({ ...real, body: 'object=1' })],
    ['is truncated', (real) => ({ ...real, body: real.body.slice(0, -10) })],
    ['is empty', (real) => ({ ...real, body: '' })],
    ['is not UTF-8', (real) => ({ ...real, body: '\xff\xfe{' })],
    ['is a number', (real) => ({ ...real, body: '7' })],
  ]),
  {
    name: 'is of a payment in another currency',
    provider: 'yookassa',
    before: (bill) => void Object.assign(bill, { currency: 'USD', status: 'paid' }),
    forge: (real) => real,
    status: 200,
  },
  {
    name: 'is of a payment of another amount',
    provider: 'yookassa',
    before: (bill) => void Object.assign(bill, { hundredths: 1, status: 'paid' }),
    forge: (real) => real,
    status: 200,
  },
  {
    name: 'is larger than 64 KiB',
    provider: 'yookassa',
    forge: (real) => ({ ...real, body: `${real.body.slice(0, -1)},"x":"${'x'.repeat(70_000)}"}` }),
    status: 413,
  },
]

const cryptoPay: readonly Case[] = [
  ...pattern('crypto_pay', 403, [
    ['has no signature', (real) => header(real, 'crypto-pay-api-signature', undefined)],
    ['has an empty signature', (real) => header(real, 'crypto-pay-api-signature', '')],
    ['has a wrong signature', (real) => header(real, 'crypto-pay-api-signature', 'a'.repeat(64))],
    [
      'has half of the signature',
      (real) => header(real, 'crypto-pay-api-signature', real.headers['crypto-pay-api-signature']?.slice(0, 32)),
    ],
    ['has a signature that is not hexadecimal', (real) => header(real, 'crypto-pay-api-signature', 'z'.repeat(64))],
    ['is changed after it was signed', (real) => ({ ...claimed('crypto_pay', real), headers: real.headers })],
    ['has one blank more than was signed', (real) => ({ ...real, body: `${real.body} ` })],
    ['is signed with the token of another shop', (real) => signed('another', claimed('crypto_pay', real).body)],
    ['is signed with an empty token', (real) => signed('', claimed('crypto_pay', real).body)],
    [
      'is signed with the token itself and not its digest',
      (real, _bill, { secret }) => ({
        ...real,
        headers: { 'crypto-pay-api-signature': createHmac('sha256', secret).update(real.body).digest('hex') },
      }),
    ],
  ]),
  ...pattern('crypto_pay', 200, [
    [
      'reports an unpaid invoice as paid, correctly signed',
      (real, _bill, { secret }) => signed(secret, claimed('crypto_pay', real).body),
    ],
    [
      'names an invoice that does not exist, correctly signed',
      (real, _bill, { secret }) =>
        signed(secret, withBody(real, (body: Body) => void (body.payload.invoice_id = 1)).body),
    ],
    [
      'has its signature in upper case',
      (real) => header(real, 'crypto-pay-api-signature', real.headers['crypto-pay-api-signature']?.toUpperCase()),
    ],
  ]),
  ...pattern('crypto_pay', 400, [
    [
      'names no invoice, correctly signed',
      (_real, _bill, { secret }) => signed(secret, '{"update_type":"invoice_paid"}'),
    ],
    ['is not JSON, correctly signed', (_real, _bill, { secret }) => signed(secret, 'paid')],
  ]),
]

const platega: readonly Case[] = [
  ...pattern('platega', 403, [
    ['has no secret', (real) => header(real, 'X-Secret', undefined)],
    ['has no merchant', (real) => header(real, 'X-MerchantId', undefined)],
    ['has another secret', (real) => header(real, 'X-Secret', 'guess')],
    ['has the beginning of the secret', (real) => header(real, 'X-Secret', real.headers['X-Secret']?.slice(0, -1))],
    ['has the secret and more', (real) => header(real, 'X-Secret', `${real.headers['X-Secret']}x`)],
    ['has another merchant', (real) => header(real, 'X-MerchantId', 'somebody')],
    [
      'has the secret and the merchant id swapped',
      (real) => ({
        ...real,
        headers: { 'X-Secret': real.headers['X-MerchantId'] ?? '', 'X-MerchantId': real.headers['X-Secret'] ?? '' },
      }),
    ],
  ]),
  ...pattern('platega', 200, [
    ['reports an unpaid transaction as confirmed', (real) => claimed('platega', real)],
    [
      'reports an unpaid transaction as confirmed, with a larger amount',
      (real) => withBody(claimed('platega', real), (body: Body) => void (body.amount = 999_999)),
    ],
    [
      'names a transaction that does not exist',
      (real) => withBody(claimed('platega', real), (body: Body) => void (body.id = 'x-1')),
    ],
    [
      'names our payment and a transaction that does not exist',
      (real) =>
        withBody(claimed('platega', real), (body: Body) => void (body.id = '3fa85f64-0000-0000-0000-000000000000')),
    ],
    [
      'reports an unpaid transaction as chargebacked',
      (real) => withBody(real, (body: Body) => void (body.status = 'CHARGEBACKED')),
    ],
  ]),
  ...pattern('platega', 400, [
    ['has no id', (real) => withBody(real, (body: Body) => void delete body.id)],
    ['has a path for an id', (real) => withBody(real, (body: Body) => void (body.id = 'a/../b'))],
  ]),
  {
    name: 'is sent to a provider that does not exist',
    provider: 'platega',
    forge: (real) => ({ ...claimed('platega', real), path: 'gold' }),
    status: 404,
  },
  {
    name: 'is sent to the sandbox',
    provider: 'platega',
    forge: (real) => ({ ...claimed('platega', real), path: 'sandbox' }),
    status: 404,
  },
  {
    name: 'is sent to the invoices',
    provider: 'platega',
    forge: (real) => ({ ...claimed('platega', real), path: 'invoice' }),
    status: 404,
  },
]

const cases: readonly Case[] = [...yookassa, ...cryptoPay, ...platega]

describe('forged, altered and replayed payment notifications', () => {
  let shop: Service
  const sides = new Map<Provider, Introduced>()
  beforeAll(async () => {
    shop = await startService('sqlite')
    for (const provider of ['yookassa', 'crypto_pay', 'platega'] as const) {
      sides.set(provider, await introduce(shop.services, provider, { now: shop.clock.read }))
    }
  })
  afterAll(async () => {
    for (const { side } of sides.values()) await side.stop()
    await shop.stop()
  })

  async function begin(provider: Provider) {
    const introduced = sides.get(provider)
    if (!introduced) throw new Error('the provider is not connected')
    const { token, customer } = await shop.newCustomer()
    const input = { amount_rub: 300, method: introduced.method }
    const { data } = await shop.post('/payments', input, { token })
    const bill = [...introduced.side.bills.values()].find((each) => each.mark === data.payment_id)
    if (!bill) throw new Error('there is no bill')
    return { introduced, customer, token, bill, id: data.payment_id as string }
  }
  const send = (path: string, { headers, body }: Post) =>
    fetch(`${shop.url}/api/v1/payments/notify/${path}`, { method: 'POST', headers, body: Buffer.from(body, 'latin1') })

  test('the list of forged notifications has at least 40 different kinds', () => {
    expect(cases.length).toBeGreaterThanOrEqual(40)
    expect(new Set(cases.map((each) => `${each.provider} ${each.name}`)).size).toBe(cases.length)
  })

  test.each(cases.map((each) => [`${each.provider}: ${each.name}`, each] as const))(
    'a forged notification moves no money: %s',
    async (_, of) => {
      const { introduced, token, bill, id } = await begin(of.provider)
      of.before?.(bill, introduced)
      const { path = of.provider, ...post } = of.forge(introduced.side.notificationOf(bill.id), bill, introduced)
      const answer = await send(path, post)
      expect(answer.status).toBe(of.status)
      expect(await answer.text()).not.toContain(introduced.secret)
      expect((await shop.get('/balance', { token })).data.balance_rub).toBe(0)
      expect((await shop.get('/transactions', { token })).data.transactions).toEqual([])
      expect((await shop.get(`/payments/${id}`, { token })).data.status).toBe('pending')
    },
  )

  test('a notification repeated 12 times at once and after a refund credits and debits once', async () => {
    for (const provider of ['yookassa', 'crypto_pay', 'platega'] as const) {
      const { introduced, token, bill } = await begin(provider)
      const { side } = introduced
      side.pay(bill.id)
      const paid = side.notificationOf(bill.id)
      const answers = await Promise.all(Array.from({ length: 12 }, () => send(provider, paid)))
      expect(answers.map((each) => each.status)).toEqual(Array.from({ length: 12 }, () => 200))
      expect((await shop.get('/balance', { token })).data.balance_rub).toBe(300)
      if (provider === 'crypto_pay') continue
      side.refund(bill.id, 30_000)
      const back = side.notificationOf(bill.id)
      await Promise.all([...Array.from({ length: 6 }, () => send(provider, back)), send(provider, paid)])
      await send(provider, paid)
      expect((await shop.get('/balance', { token })).data.balance_rub).toBe(0)
      expect((await shop.get('/transactions', { token })).data.transactions).toHaveLength(2)
    }
  })

  test('the shop answers 403 to a YooKassa notification from an unlisted address, and polling credits the payment', async () => {
    const introduced = sides.get('yookassa') as Introduced
    const set = (sources: string) =>
      shop.services.providers.set('yookassa', {
        settings: new Map([['sources', sources]]),
        methods: undefined,
        min: new Map(),
        max: new Map(),
        fee: new Map(),
        secret: undefined,
      })
    const { token, bill } = await begin('yookassa')
    introduced.side.pay(bill.id)
    shop.clock.advance(1)
    await set('185.71.76.0/27;2a02:5180::/32')
    expect((await send('yookassa', introduced.side.notificationOf(bill.id))).status).toBe(403)
    expect((await shop.get('/balance', { token })).data.balance_rub).toBe(0)
    shop.clock.advance(1)
    await set('127.0.0.1/32;::1/128')
    // No notification arrives: the shop finds the payment by polling.
    shop.clock.advance(20_000)
    while ((await shop.services.paymentWatch.pollDue(100)).polled === 100);
    expect((await shop.get('/balance', { token })).data.balance_rub).toBe(300)
  })

  test('each unmatched notification makes one notice, and polling credits a payment answered 503 in an outage', async () => {
    const { paymentOperator } = shop.services
    const noted = await paymentOperator.unmatched(false, 500)
    expect(new Set(noted.map((each) => each.reason))).toEqual(new Set(['not_at_provider', 'currency', 'amount']))
    const before = noted.length
    const { introduced, token, bill } = await begin('platega')
    introduced.side.pay(bill.id)
    introduced.side.isDown = true
    const silent = await send('platega', introduced.side.notificationOf(bill.id))
    expect([silent.status, silent.headers.get('retry-after')]).toEqual([503, '60'])
    introduced.side.isDown = false
    while ((await shop.services.paymentWatch.pollDue(100)).polled === 100);
    expect((await shop.get('/balance', { token })).data.balance_rub).toBe(300)
    expect((await paymentOperator.unmatched(false, 500)).length).toBe(before)
    const first = noted.find((each) => each.reason === 'not_at_provider')
    const { customer } = await shop.newCustomer()
    if (!first) throw new Error('there is none')
    await paymentOperator.resolve(first.id, { customer: undefined, note: 'looked at' })
    const again = await failureOf(paymentOperator.resolve(first.id, { customer, note: 'again' }))
    expect(again.message).toContain('already resolved')
    const owed = noted.find((each) => each.reason === 'amount')
    if (!owed) throw new Error('there is none')
    await paymentOperator.resolve(owed.id, { customer, note: 'paid too little' })
    expect((await shop.services.ledger.balance(customer)).balance as bigint).toBe(1n)
  })

  /** Polls day after day. Provider calls are limited per second, and earlier tests used them. */
  async function pollUntilEmpty(token: string): Promise<void> {
    const isEmpty = async (): Promise<boolean> => {
      shop.clock.advance(86_400_000)
      while ((await shop.services.paymentWatch.pollDue(100)).polled === 100);
      return (await shop.get('/balance', { token })).data.balance_rub === 0
    }
    expect(await untilTrue(isEmpty)).toBeTrue()
  }

  test('polling finds a later refund of a partly refunded payment', async () => {
    const { introduced, token, bill, id } = await begin('yookassa')
    introduced.side.pay(bill.id)
    await send('yookassa', introduced.side.notificationOf(bill.id))
    const part = { amount: kopecks(10_000n), intoDebt: false, note: 'a part' }
    await shop.services.paymentOperator.refund(id as PaymentId, part)
    expect((await shop.get('/balance', { token })).data.balance_rub).toBe(200)
    introduced.side.refund(bill.id, 20_000)
    await pollUntilEmpty(token)
  })

  test('polling finds a full refund of a payment that a notification credited', async () => {
    for (const provider of ['yookassa', 'platega'] as const) {
      const { introduced, token, bill } = await begin(provider)
      introduced.side.pay(bill.id)
      await send(provider, introduced.side.notificationOf(bill.id))
      expect((await shop.get('/balance', { token })).data.balance_rub).toBe(300)
      introduced.side.refund(bill.id, 30_000)
      await pollUntilEmpty(token)
    }
  })

  test('a notification that names another payment credits the payment of its bill', async () => {
    const other = await begin('yookassa')
    const { side, method } = other.introduced
    const { token } = await shop.newCustomer()
    const before = new Set(side.bills.keys())
    // The shop never learns the bill of its payment.
    side.faults.push('done, then cut off', ...Array.from({ length: 9 }, () => 'cut off' as const))
    await shop.post('/payments', { amount_rub: 300, method }, { token })
    side.faults.length = 0
    const bill = [...side.bills.values()].find((each) => !before.has(each.id))
    if (!bill) throw new Error('there is no bill')
    side.pay(bill.id)
    const notice = withBody(
      side.notificationOf(bill.id),
      (body: Body) => void (body.object.metadata.payment_id = other.id),
    )
    expect((await send('yookassa', notice)).status).toBe(200)
    expect((await shop.get('/balance', { token })).data.balance_rub).toBe(300)
    expect((await shop.get('/balance', { token: other.token })).data.balance_rub).toBe(0)
  })

  test('a notification about an unknown payment makes a notice only once it is paid', async () => {
    const { side, method } = sides.get('yookassa') as Introduced
    const connection = (await shop.services.providers.find('yookassa'))?.connection
    const unknown = async () =>
      (await shop.services.paymentOperator.unmatched(false, 500)).filter((each) => each.reason === 'unknown').length
    const before = await unknown()
    const opened = await connection?.open({
      payment: 'pay_00000000000000000000000000' as PaymentId,
      method,
      amount: kopecks(30_000n),
      description: 'something else',
      returnUrl: 'https://elsewhere.example/',
      email: undefined,
      payer: 'somebody',
      expiresAt: shop.clock.nowMs + 3_600_000,
    })
    const id = opened?.providerId ?? ''
    expect((await send('yookassa', side.notificationOf(id))).status).toBe(200)
    expect(await unknown()).toBe(before)
    side.pay(id)
    expect((await send('yookassa', side.notificationOf(id))).status).toBe(200)
    expect(await unknown()).toBe(before + 1)
  })

  test('verify finds nothing wrong, and the log contains no provider secret', async () => {
    expect(await findingsOf(shop.services)).toEqual([])
    for (const { secret } of sides.values()) expect(shop.log.join('\n')).not.toContain(secret)
  })
})
