import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { failureOf } from '../../../test/harness/failure.ts'
import { openYookassa } from '../../../test/providers/yookassa.ts'
import { makeId } from '../../core/ids.ts'
import { kopecks } from '../../core/money.ts'
import { ProviderRefused } from '../../domains/payments/ports.ts'
import { yookassa } from './yookassa.ts'

const secret = 'test_secret-of-the-shop'

describe('the receipt of a refund at YooKassa', () => {
  let side: Awaited<ReturnType<typeof openYookassa>>
  let count = 0
  beforeAll(async () => {
    side = await openYookassa({ id: '100500', secret })
  })
  afterAll(() => side.stop())

  function connect(settings: Readonly<Record<string, string>>) {
    const connection = yookassa.connect?.({ shop_id: '100500', url: side.url, ...settings }, secret)
    if (!connection?.refund) throw new Error('YooKassa cannot refund')
    return { ...connection, refund: connection.refund.bind(connection) }
  }

  /** A payment of 300.50 RUB that is paid. */
  async function pay(settings: Readonly<Record<string, string>>) {
    count += 1
    const { providerId } = await connect(settings).open({
      payment: makeId('payment', count, (length) => new Uint8Array(length)),
      method: 'card',
      amount: kopecks(30_050n),
      description: `Top-up ${count}`,
      returnUrl: 'https://shop.test/',
      email: 'customer@example.net',
      payer: 'a',
      expiresAt: 0,
    })
    side.pay(providerId)
    side.receipts.length = 0
    return { providerId, bill: side.bills.get(providerId), description: `Top-up ${count}` }
  }

  const back = (providerId: string, amount: bigint) => {
    count += 1
    return { providerId, amount: kopecks(amount), isWhole: amount === 30_050n, key: `refund-${count}` }
  }

  test('a refund of 100.10 of 300.50 RUB has a receipt of 100.10 RUB with the VAT rate and address of the payment', async () => {
    const { providerId, bill, description } = await pay({ receipts: 'on', vat_code: '4' })
    await connect({ receipts: 'on', vat_code: '11' }).refund(back(providerId, 10_010n))
    const amount = { value: '100.10', currency: 'RUB' }
    const item = { description, quantity: 1, amount, vat_code: 4, payment_subject: 'service' }
    expect(side.receipts).toEqual([
      { customer: { email: 'customer@example.net' }, items: [{ ...item, payment_mode: 'full_prepayment' }] },
    ])
    expect(bill?.backHundredths).toBe(10_010)
  })

  test('a refund of all 300.50 RUB has no receipt, because YooKassa makes it from the payment', async () => {
    const { providerId, bill } = await pay({ receipts: 'on' })
    await connect({ receipts: 'on' }).refund(back(providerId, 30_050n))
    expect([bill?.backHundredths, side.receipts]).toEqual([30_050, []])
  })

  test('a partial refund has no receipt if receipts are off, or were off when the customer paid', async () => {
    for (const receipts of ['off', 'on']) {
      const { providerId, bill } = await pay({ receipts: 'off' })
      await connect({ receipts }).refund(back(providerId, 10_010n))
      expect([bill?.backHundredths, side.receipts]).toEqual([10_010, []])
    }
  })

  test('a partial refund without an address for its receipt is refused and returns 0 RUB, a whole one is made', async () => {
    const { providerId, bill } = await pay({ receipts: 'on' })
    // As of a payment that an older version opened.
    delete bill?.metadata['receipt_email']
    const { refund } = connect({ receipts: 'on' })
    expect(await failureOf(refund(back(providerId, 10_010n)))).toBeInstanceOf(ProviderRefused)
    expect(bill?.backHundredths).toBe(0)
    await refund(back(providerId, 30_050n))
    expect(bill?.backHundredths).toBe(30_050)
  })
})
