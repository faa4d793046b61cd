import { answerPayer, checkoutUrl } from './checkout.ts'
import { type Bill, mustFind, type OtherSide, serve } from './other-side.ts'

type Transaction = Bill & { readonly method: number; readonly currency: string; isCharged: boolean }

type Wanted = {
  id?: string
  paymentMethod?: number
  paymentDetails?: { amount?: unknown; currency?: string }
  description?: string
  return?: string
  failedUrl?: string
  payload?: string
  metadata?: { userId?: string }
}

type PlategaSide = OtherSide & { readonly bills: Map<string, Transaction> }

/** A fake Platega: transactions, and callbacks with the merchant's secret. */
export async function openPlatega(merchant: { readonly id: string; readonly secret: string }): Promise<PlategaSide> {
  const bills = new Map<string, Transaction>()

  const statusOf = (one: Transaction): string => {
    if (one.isCharged) return 'CHARGEBACKED'
    return { waiting: 'PENDING', paid: 'CONFIRMED', over: 'CANCELED' }[one.status]
  }

  const show = (one: Transaction) => ({
    id: one.id,
    status: statusOf(one),
    paymentDetails: { amount: one.hundredths / 100, currency: one.currency },
    mechantId: merchant.id,
    comission: 8.5,
    paymentMethod: one.method,
    expiresIn: '00:15:00',
    payload: one.mark,
  })

  async function create(request: Request): Promise<Response> {
    const wanted = (await request.json()) as Wanted
    const { amount, currency = '' } = wanted.paymentDetails ?? {}
    if (wanted.id !== undefined || typeof amount !== 'number' || !(amount > 0))
      return new Response(null, { status: 400 })
    if (![2, 3, 11, 12, 13, 14].includes(wanted.paymentMethod ?? 0) || !wanted.metadata?.userId) {
      return new Response(null, { status: 400 })
    }
    if (!wanted.return || !wanted.failedUrl || (wanted.description ?? '').length > 64) {
      return new Response(null, { status: 400 })
    }
    const id = `3fa85f64-5717-4562-b3fc-${String(bills.size).padStart(12, '0')}`
    bills.set(id, {
      id,
      mark: wanted.payload ?? '',
      hundredths: Math.round(amount * 100),
      returnUrl: wanted.return,
      status: 'waiting',
      backHundredths: 0,
      method: wanted.paymentMethod ?? 0,
      currency,
      isCharged: false,
    })
    return Response.json({
      transactionId: id,
      redirect: checkoutUrl(served.url, id),
      status: 'PENDING',
      expiresIn: '00:15:00',
      usdtRate: 79.4,
    })
  }

  async function act(request: Request, url: URL): Promise<Response> {
    const { headers } = request
    if (headers.get('x-merchantid') !== merchant.id || headers.get('x-secret') !== merchant.secret) {
      return new Response(null, { status: 401 })
    }
    if (request.method === 'POST' && url.pathname === '/transaction/process') return create(request)
    const [, id = '', action = ''] = /^\/transaction\/([^/]+)(?:\/([a-z-]+))?$/.exec(url.pathname) ?? []
    const one = bills.get(id)
    if (!one) return new Response(null, { status: 404 })
    if (action === 'cancel-supported') return Response.json({ supported: one.status === 'paid', totalDeductUsdt: 1 })
    if (action !== 'cancel') return Response.json(show(one))
    one.isCharged = true
    one.backHundredths = one.hundredths
    return Response.json({ accepted: true, manualControlRequired: false })
  }

  const served = await serve(act, (request, url, listener) => answerPayer(request, url, side, listener))

  const side: PlategaSide = {
    url: served.url,
    faults: served.faults,
    bills,
    pay: (id) => void (mustFind(bills, id).status = 'paid'),
    end: (id) => void (mustFind(bills, id).status = 'over'),
    refund(id) {
      const one = mustFind(bills, id) as Transaction
      one.isCharged = true
      one.backHundredths = one.hundredths
    },
    notificationOf(id) {
      const one = mustFind(bills, id) as Transaction
      const { currency, method, mark } = one
      const body = {
        id,
        amount: one.hundredths / 100,
        currency,
        status: statusOf(one),
        paymentMethod: method,
        payload: mark,
      }
      return {
        headers: { 'content-type': 'application/json', 'X-MerchantId': merchant.id, 'X-Secret': merchant.secret },
        body: JSON.stringify(body),
      }
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
