import { readId } from '../../../core/ids.ts'
import { toRoubleText } from '../../../core/money.ts'
import { toIso } from '../../../core/time.ts'
import type { Payments } from '../../../domains/payments/index.ts'
import { isOpen, type Payment, toPay } from '../../../domains/payments/rules.ts'
import type { PlainRoute } from '../../http.ts'

const en = {
  language: 'en',
  currency: 'RUB',
  nothing: 'Nothing to pay here',
  nothingAbout: 'There is no such payment at this link.',
  notHere: 'Not paid here',
  notHereAbout: 'This is not paid with a button.',
  paid: 'This is paid.',
  refunded: 'This was paid and has gone back.',
  over: 'This is over.',
  until: 'Until',
  sandbox: 'A sandbox: nobody pays anything.',
  pay: 'Pay',
  purpose: 'Give this as the purpose:',
  later: 'It is credited when the seller has the money.',
  back: 'Back to',
}
const ru: typeof en = {
  language: 'ru',
  currency: '₽',
  nothing: 'Здесь нечего оплачивать',
  nothingAbout: 'По этой ссылке такого платежа нет.',
  notHere: 'Здесь это не оплачивается',
  notHereAbout: 'Это не оплачивается кнопкой.',
  paid: 'Оплачено.',
  refunded: 'Было оплачено и возвращено.',
  over: 'Время вышло.',
  until: 'До',
  sandbox: 'Это песочница: никто ничего не платит.',
  pay: 'Оплатить',
  purpose: 'Укажите назначение платежа:',
  later: 'Зачислится, когда деньги будут у продавца.',
  back: 'Вернуться на',
}

/** What the page to pay at says, in both languages of the console. */
export const payPageWords = { en, ru }
export type PayPageWords = typeof en

/** What the payer's browser speaks, the first of both that it names; English unless it says so. */
export function languageOf(request: Request): keyof typeof payPageWords {
  const said = (request.headers.get('accept-language') ?? '').toLowerCase()
  return /^[^;]*?\b(ru|en)\b/.exec(said)?.[1] === 'ru' ? 'ru' : 'en'
}

const perMinute = 120

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { margin: 0 auto; max-width: 30rem; padding: 1.5rem }
h1 { font-size: 1.3rem; margin: 0 0 .25rem }
p { margin: .5rem 0 }
b { overflow-wrap: anywhere }
button { font: inherit; padding: .6rem 1.2rem; border: 1px solid currentColor; border-radius: .5rem; cursor: pointer }
small { opacity: .75 }
`
const styleHash = new Bun.CryptoHasher('sha256').update(style).digest('base64')

/** Nothing but this page's own style and its one form. */
const policy =
  `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; ` +
  "form-action 'self'; frame-ancestors 'none'"

/**
 * Where a payment is made that no provider takes: in a sandbox one button pays it, and an invoice says where to pay.
 * Whoever has the link sees the amount and nothing of the customer.
 */
export function payPageRoute({ payments }: { payments: Payments }): PlainRoute {
  return {
    path: '/pay/:payment',
    takes: 'GET and POST',
    perMinute,
    async answer(request, params) {
      const words = payPageWords[languageOf(request)]
      const id = readId('payment', params['payment'] ?? '')
      const found = id && (await payments.findOurs(id))
      if (!id || !found) return page(404, words, words.nothing, `<p>${words.nothingAbout}</p>`)
      const isSandbox = found.payment.provider === 'sandbox'
      if (request.method !== 'POST') return show(found.payment, found.details, words)
      const paid = isSandbox ? await payments.payInSandbox(id) : undefined
      return paid ? show(paid, undefined, words) : page(409, words, words.notHere, `<p>${words.notHereAbout}</p>`)
    },
  }
}

function show(payment: Payment, details: string | undefined, words: PayPageWords): Response {
  const amount = `${toRoubleText(toPay(payment))} ${words.currency}`
  if (!isOpen(payment.state)) {
    const told = payment.state === 'paid' || payment.state === 'refunded' ? words[payment.state] : words.over
    return page(200, words, amount, `<p>${told}</p>${backTo(payment, words)}`)
  }
  const moment = toIso(payment.expiresAt).slice(0, 16).replace('T', ' ')
  const until = `<p><small>${words.until} ${moment} UTC</small></p>`
  if (payment.provider === 'sandbox') {
    const form = `<form method="post"><button type="submit">${words.pay}</button></form>`
    return page(200, words, amount, `<p>${words.sandbox}</p>${form}${until}`)
  }
  const where = `<p>${escape(details ?? '')}</p><p>${words.purpose} <b>${payment.id}</b></p>`
  return page(200, words, amount, `${where}<p>${words.later}</p>${until}`)
}

/** Where a customer says that his payers come from: they see whither it leads before they go. */
function backTo({ returnUrl }: Payment, words: PayPageWords): string {
  const host = returnUrl === null ? undefined : URL.parse(returnUrl)?.host
  if (returnUrl === null || host === undefined) return ''
  return `<p><a href="${escape(returnUrl)}" rel="noreferrer nofollow">${words.back} ${escape(host)}</a></p>`
}

function page(status: number, { language }: PayPageWords, title: string, content: string): Response {
  const body = `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escape(title)}</title>
<style>${style}</style>
</head>
<body>
<h1>${escape(title)}</h1>
${content}
</body>
</html>
`
  return new Response(body, {
    status,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      Vary: 'Accept-Language',
      'Content-Security-Policy': policy,
      'X-Robots-Tag': 'noindex, nofollow',
    },
  })
}

const escape = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
