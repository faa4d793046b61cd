import { expect, test } from 'bun:test'
import { curl } from '../harness/clients.ts'
import { openShopWithGateway, startOrigin } from '../harness/gateway.ts'
import { urlOf } from '../harness/library-clients.ts'

test('a top-up with a purchase delivers a working proxy, and its refund leaves the price as debt', async () => {
  const shop = await openShopWithGateway('sqlite')
  const origin = startOrigin()
  try {
    const { token } = await shop.newCustomer()
    const purchase = { product: 'dedicated', country_code: 'FR', period: 7, count: 1, ipv: 4 }
    const { data: begun } = await shop.post('/payments', { amount_rub: 1000, method: 'sandbox', purchase }, { token })
    await fetch(begun.pay_url, { method: 'POST' })
    const { data: listed } = await shop.get('/dedicated/list', { token })
    expect(listed.proxies).toHaveLength(1)
    expect(await curl('-x', urlOf('http', listed.proxies[0]), origin.url)).toMatchObject({ exit: 0, status: 200 })
    const { data: paid } = await shop.get(`/payments/${begun.payment_id}`, { token })
    const { balance_rub: left } = (await shop.get('/balance', { token })).data
    expect(left).toBe(1000 - paid.purchase.price_rub)
    const refund = { amount: 'all' as const, intoDebt: true, note: 'test' }
    await shop.services.paymentOperator.refund(begun.payment_id, refund)
    expect((await shop.get('/balance', { token })).data.balance_rub).toBe(left - 1000)
  } finally {
    await origin.stop()
    await shop.stop()
  }
})
