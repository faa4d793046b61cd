import { type Bill, decimal, type OtherSide } from './other-side.ts'

type Side = Pick<OtherSide, 'bills' | 'pay' | 'end' | 'notificationOf'>

const pathPattern = /^\/checkout\/([A-Za-z0-9-]+)$/

/** The URL of the payer's page, at this fake provider instead of the real one. */
export const checkoutUrl = (origin: string, id: string): string => `${origin}/checkout/${id}`

/**
 * The page where a payer pays or cancels, as every provider has one: two buttons, then the redirect to the shop. The
 * notification is sent first, as providers do. Undefined for other paths.
 */
export async function answerPayer(
  request: Request,
  url: URL,
  side: Side,
  listener: string | undefined,
): Promise<Response | undefined> {
  const bill = side.bills.get(pathPattern.exec(url.pathname)?.[1] ?? '')
  if (!bill) return undefined
  if (request.method !== 'POST') return show(bill)
  const chosen = new URLSearchParams(await request.text()).get('choice')
  if (bill.status === 'waiting') {
    if (chosen === 'pay') side.pay(bill.id)
    else side.end(bill.id)
  }
  if (listener !== undefined) await fetch(listener, { method: 'POST', ...side.notificationOf(bill.id) })
  return new Response(null, { status: 303, headers: { location: bill.returnUrl } })
}

function show(bill: Bill): Response {
  const form =
    '<form method="post"><button name="choice" value="pay">Pay</button>' +
    '<button name="choice" value="no">Give up</button></form>'
  const body = bill.status === 'waiting' ? form : '<p>This is done.</p>'
  return new Response(`<!doctype html><title>Checkout</title><h1>${decimal(bill.hundredths)} RUB</h1>${body}`, {
    headers: { 'content-type': 'text/html; charset=utf-8' },
  })
}
