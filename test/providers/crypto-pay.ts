import { createHash, createHmac } from 'node:crypto'
import { answerPayer, checkoutUrl } from './checkout.ts'
import { type Bill, decimal, mustFind, type OtherSide, serve } from './other-side.ts'

type Invoice = Bill & { readonly createdAt: string; readonly expiresIn: number; readonly fiat: string }

type Wanted = {
  currency_type?: string
  fiat?: string
  amount?: string
  payload?: string
  expires_in?: number
  paid_btn_url?: string
  invoice_ids?: string
  offset?: number
  count?: number
  status?: string
}

type CryptoPaySide = OtherSide & { readonly bills: Map<string, Invoice> }

/** A fake Crypto Pay: invoices in roubles, and updates signed with the token. */
export async function openCryptoPay(token: string, now: () => number = Date.now): Promise<CryptoPaySide> {
  const bills = new Map<string, Invoice>()
  let updates = 0

  const show = (invoice: Invoice) => ({
    invoice_id: Number(invoice.id),
    hash: `IV${invoice.id}`,
    currency_type: 'fiat',
    fiat: invoice.fiat,
    amount: decimal(invoice.hundredths).replace(/\.?0+$/, ''),
    bot_invoice_url: checkoutUrl(served.url, invoice.id),
    status: { waiting: 'active', paid: 'paid', over: 'expired' }[invoice.status],
    payload: invoice.mark,
    created_at: invoice.createdAt,
    expiration_date: new Date(Date.parse(invoice.createdAt) + invoice.expiresIn * 1000).toISOString(),
    ...(invoice.status === 'paid' && {
      paid_asset: 'USDT',
      paid_amount: '6.31',
      paid_fiat_rate: '79.2',
      fee_asset: 'USDT',
      fee_amount: '0.19',
    }),
  })

  const refuse = (code: number, name: string): Response =>
    Response.json({ ok: false, error: { code, name } }, { status: code })

  /** No idempotency: each call creates an invoice. */
  function create(wanted: Wanted): Response {
    if (wanted.currency_type !== 'fiat' || !wanted.fiat || !/^\d+(\.\d+)?$/.test(wanted.amount ?? '')) {
      return refuse(400, 'AMOUNT_INVALID')
    }
    const invoice: Invoice = {
      id: String(528_890 + bills.size),
      mark: wanted.payload ?? '',
      hundredths: Math.round(Number(wanted.amount) * 100),
      returnUrl: wanted.paid_btn_url ?? '',
      status: 'waiting',
      backHundredths: 0,
      createdAt: new Date(now()).toISOString(),
      expiresIn: wanted.expires_in ?? 2_678_400,
      fiat: wanted.fiat,
    }
    bills.set(invoice.id, invoice)
    return Response.json({ ok: true, result: show(invoice) })
  }

  function list(wanted: Wanted): Response {
    const ids = wanted.invoice_ids?.split(',')
    const all = [...bills.values()].filter((invoice) => ids?.includes(invoice.id) ?? true).toReversed()
    const start = wanted.offset ?? 0
    return Response.json({ ok: true, result: { items: all.slice(start, start + (wanted.count ?? 100)).map(show) } })
  }

  async function act(request: Request, url: URL): Promise<Response> {
    if (request.headers.get('crypto-pay-api-token') !== token) return refuse(401, 'UNAUTHORIZED')
    const wanted = (await request.json()) as Wanted
    if (url.pathname === '/api/createInvoice') return create(wanted)
    return url.pathname === '/api/getInvoices' ? list(wanted) : refuse(404, 'METHOD_NOT_FOUND')
  }

  const served = await serve(act, (request, url, listener) => answerPayer(request, url, side, listener))

  const side: CryptoPaySide = {
    url: served.url,
    faults: served.faults,
    bills,
    pay: (id) => void (mustFind(bills, id).status = 'paid'),
    end: (id) => void (mustFind(bills, id).status = 'over'),
    refund() {
      throw new Error('it gives nothing back')
    },
    notificationOf(id) {
      updates += 1
      const invoice = mustFind(bills, id) as Invoice
      const body = JSON.stringify({
        update_id: Math.ceil(updates / 2),
        update_type: 'invoice_paid',
        request_date: new Date().toISOString(),
        payload: show(invoice),
      })
      const key = createHash('sha256').update(token).digest()
      const signature = createHmac('sha256', key).update(body).digest('hex')
      return { headers: { 'content-type': 'application/json', 'crypto-pay-api-signature': signature }, body }
    },
    get isDown() {
      return served.state.isDown
    },
    set isDown(yes) {
      served.state.isDown = yes
    },
    get listener() {
      return served.state.listener
    },
    set listener(url) {
      served.state.listener = url
    },
    stop: served.stop,
  }
  return side
}
