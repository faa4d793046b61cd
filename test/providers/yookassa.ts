import { answerPayer, checkoutUrl } from './checkout.ts'
import { type Bill, decimal, mustFind, type OtherSide, type Post, serve } from './other-side.ts'

type Created = Bill & {
  readonly createdAt: string
  readonly metadata: Record<string, string>
  readonly currency: string
  readonly description: string
  readonly hasReceipt: boolean
}

type Receipt = {
  readonly customer?: { readonly email?: string }
  readonly items?: readonly { readonly amount?: { readonly value?: string } }[]
}

type Wanted = {
  amount?: { value?: string; currency?: string }
  capture?: boolean
  confirmation?: { type?: string; return_url?: string }
  metadata?: Record<string, string>
  payment_method_data?: { type?: string }
  description?: string
  receipt?: Receipt
}

type YookassaSide = Omit<OtherSide, 'bills'> & { readonly receipts: unknown[]; readonly bills: Map<string, Created> }

/** A partial refund has a receipt where the payment has one; of a whole refund the provider makes it itself. */
function isReceiptRight(bill: Created, hundredths: number, receipt: Receipt | undefined): boolean {
  if (!bill.hasReceipt || hundredths === bill.hundredths) return receipt === undefined
  const sum = (receipt?.items ?? []).reduce((total, { amount }) => total + Math.round(Number(amount?.value) * 100), 0)
  return receipt?.customer?.email !== undefined && sum === hundredths
}

type Shop = { readonly id: string; readonly secret: string }

/** A fake YooKassa API v3 as a function from request to answer. `urlOf` says where payers are sent. */
export function createYookassa(
  shop: Shop,
  is: { readonly test?: boolean; readonly wantsReceipt?: boolean },
  now: () => number,
  urlOf: () => string,
) {
  const bills = new Map<string, Created>()
  const answered = new Map<string, object>()
  const receipts: unknown[] = []
  let count = 0

  const show = (bill: Created) => ({
    id: bill.id,
    status: { waiting: 'pending', paid: 'succeeded', over: 'canceled' }[bill.status],
    paid: bill.status === 'paid',
    amount: { value: decimal(bill.hundredths), currency: bill.currency },
    ...(bill.status === 'paid' && {
      income_amount: { value: decimal(Math.round(bill.hundredths * 0.965)), currency: bill.currency },
    }),
    refunded_amount: { value: decimal(bill.backHundredths), currency: bill.currency },
    refundable: bill.status === 'paid',
    test: is.test ?? false,
    metadata: bill.metadata,
    description: bill.description,
    ...(bill.hasReceipt && { receipt_registration: 'succeeded' }),
    created_at: bill.createdAt,
    confirmation: {
      type: 'redirect',
      return_url: bill.returnUrl,
      confirmation_url: checkoutUrl(urlOf(), bill.id),
    },
  })

  const refuse = (status: number, code: string): Response =>
    Response.json({ type: 'error', id: 'e', code, description: code }, { status })

  /** The same key returns the same answer, for a day. */
  async function create(request: Request): Promise<Response> {
    const key = request.headers.get('idempotence-key') ?? ''
    if (key === '' || key.length > 64) return refuse(400, 'invalid_request')
    const before = answered.get(key)
    if (before) return Response.json(before)
    const wanted = (await request.json()) as Wanted
    const { value = '', currency = '' } = wanted.amount ?? {}
    if (!/^\d+\.\d\d$/.test(value) || wanted.confirmation?.type !== 'redirect') return refuse(400, 'invalid_request')
    if (wanted.capture !== true) return refuse(400, 'this side knows one stage only')
    if (!['bank_card', 'sbp'].includes(wanted.payment_method_data?.type ?? '')) return refuse(400, 'invalid_request')
    if (is.wantsReceipt && !wanted.receipt?.customer?.email) return refuse(400, 'invalid_request')
    if (wanted.receipt) receipts.push(wanted.receipt)
    count += 1
    const bill: Created = {
      id: `2f0c1a${String(count).padStart(6, '0')}-000f-5000-9000-1b68e7b15f3f`,
      mark: Object.values(wanted.metadata ?? {})[0] ?? '',
      hundredths: Math.round(Number(value) * 100),
      status: 'waiting',
      backHundredths: 0,
      createdAt: new Date(now()).toISOString(),
      metadata: wanted.metadata ?? {},
      currency,
      description: wanted.description ?? '',
      hasReceipt: wanted.receipt !== undefined,
      returnUrl: wanted.confirmation.return_url ?? '',
    }
    bills.set(bill.id, bill)
    const answer = show(bill)
    answered.set(key, answer)
    return Response.json(answer)
  }

  async function refund(request: Request): Promise<Response> {
    const key = request.headers.get('idempotence-key') ?? ''
    const before = answered.get(key)
    if (before) return Response.json(before)
    const wanted = (await request.json()) as { payment_id?: string; amount?: { value?: string }; receipt?: Receipt }
    const bill = bills.get(wanted.payment_id ?? '')
    const hundredths = Math.round(Number(wanted.amount?.value) * 100)
    if (!bill || bill.status !== 'paid') return refuse(404, 'not_found')
    if (!(hundredths > 0) || bill.backHundredths + hundredths > bill.hundredths) return refuse(400, 'invalid_request')
    if (!isReceiptRight(bill, hundredths, wanted.receipt)) return refuse(400, 'invalid_request')
    if (wanted.receipt) receipts.push(wanted.receipt)
    bill.backHundredths += hundredths
    const answer = { id: `refund-${bill.id}`, payment_id: bill.id, status: 'succeeded', amount: wanted.amount }
    answered.set(key, answer)
    return Response.json(answer)
  }

  function list(url: URL): Response {
    const from = url.searchParams.get('created_at.gte') ?? ''
    const all = [...bills.values()].filter((bill) => bill.createdAt >= from).toReversed()
    const start = Number(url.searchParams.get('cursor') ?? 0)
    const size = Number(url.searchParams.get('limit') ?? 10)
    const page = all.slice(start, start + size)
    const next = start + size < all.length ? { next_cursor: String(start + size) } : {}
    return Response.json({ type: 'list', items: page.map(show), ...next })
  }

  async function act(request: Request, url: URL): Promise<Response> {
    const right = `Basic ${btoa(`${shop.id}:${shop.secret}`)}`
    if (request.headers.get('authorization') !== right) return refuse(401, 'invalid_credentials')
    const [, one] = /^\/v3\/payments\/([^/]+)$/.exec(url.pathname) ?? []
    if (request.method === 'POST' && url.pathname === '/v3/payments') return create(request)
    if (request.method === 'POST' && url.pathname === '/v3/refunds') return refund(request)
    if (url.pathname === '/v3/payments') return list(url)
    const bill = one === undefined ? undefined : bills.get(one)
    return bill ? Response.json(show(bill)) : refuse(404, 'not_found')
  }

  return {
    act,
    bills,
    receipts,
    pay: (id: string): void => void (mustFind(bills, id).status = 'paid'),
    end: (id: string): void => void (mustFind(bills, id).status = 'over'),
    refund: (id: string, hundredths: number): void => void (mustFind(bills, id).backHundredths += hundredths),
    forgetKeys: (): void => answered.clear(),
    notificationOf(id: string): Post {
      const bill = bills.get(id) ?? (mustFind(bills, id) as Created)
      const isRefund = bill.backHundredths > 0
      const event = isRefund ? 'refund.succeeded' : bill.status === 'over' ? 'payment.canceled' : 'payment.succeeded'
      const object = isRefund
        ? { id: `refund-${id}`, payment_id: id, status: 'succeeded', amount: { value: '1.00', currency: 'RUB' } }
        : show(bill)
      return {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ type: 'notification', event, object }),
      }
    },
  }
}

/** The same behind a socket. */
export async function openYookassa(
  shop: Shop,
  is: { readonly test?: boolean; readonly wantsReceipt?: boolean } = {},
  now: () => number = Date.now,
): Promise<YookassaSide> {
  const { act, ...created } = createYookassa(shop, is, now, () => served.url)
  const served = await serve(act, (request, url, listener) => answerPayer(request, url, side, listener))
  const side: YookassaSide = {
    ...created,
    url: `${served.url}/v3`,
    faults: served.faults,
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
