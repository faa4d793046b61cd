import { readId } from '../../../core/ids.ts'
import { toRoubleText } from '../../../core/money.ts'
import { toIso } from '../../../core/time.ts'
import type { Payments } from '../../../domains/payments/index.ts'
import { isOpen, type Payment, toPay } from '../../../domains/payments/rules.ts'
import { createHtmlPages, escapeHtml } from '../../html-page.ts'
import type { PlainRoute } from '../../http.ts'
import { languageOf } from '../../language.ts'

const en = {
  language: 'en' as 'en' | 'ru',
  currency: 'RUB',
  nothing: 'Nothing to pay here',
  nothingAbout: 'There is no such payment at this link.',
  notHere: 'Not paid here',
  notHereAbout: 'This is not paid with a button.',
  paid: 'This is paid.',
  refunded: 'This was paid and has gone back.',
  over: 'This is over.',
  until: 'Until',
  sandbox: 'A sandbox: no money is paid.',
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

type PayPageMessages = typeof en

const pages = createHtmlPages(
  `b { overflow-wrap: anywhere }
button { font: inherit; padding: .6rem 1.2rem; border: 1px solid currentColor; border-radius: .5rem; cursor: pointer }
`,
  'self',
)

/** The page of a sandbox payment or an invoice. It shows the amount and nothing about the customer. */
export function payPageRoute({ payments }: { payments: Payments }): PlainRoute {
  return {
    path: '/pay/:payment',
    takes: 'GET and POST',
    perMinute: 120,
    async answer(request, params) {
      const messages = { en, ru }[languageOf(request.headers)]
      const id = readId('payment', params['payment'] ?? '')
      const found = id && (await payments.findOurs(id))
      if (!id || !found) return page(404, messages, messages.nothing, `<p>${messages.nothingAbout}</p>`)
      if (request.method !== 'POST') return show(found.payment, found.details, messages)
      const paid = found.payment.provider === 'sandbox' ? await payments.payInSandbox(id) : undefined
      return paid
        ? show(paid, undefined, messages)
        : page(409, messages, messages.notHere, `<p>${messages.notHereAbout}</p>`)
    },
  }
}

function show(payment: Payment, details: string | undefined, messages: PayPageMessages): Response {
  const amount = `${toRoubleText(toPay(payment))} ${messages.currency}`
  if (!isOpen(payment.state)) {
    const message = payment.state === 'paid' || payment.state === 'refunded' ? messages[payment.state] : messages.over
    return page(200, messages, amount, `<p>${message}</p>${backTo(payment, messages)}`)
  }
  const moment = toIso(payment.expiresAt).slice(0, 16).replace('T', ' ')
  const until = `<p><small>${messages.until} ${moment} UTC</small></p>`
  if (payment.provider === 'sandbox') {
    const form = `<form method="post"><button type="submit">${messages.pay}</button></form>`
    return page(200, messages, amount, `<p>${messages.sandbox}</p>${form}${until}`)
  }
  const where = `<p>${escapeHtml(details ?? '')}</p><p>${messages.purpose} <b>${payment.id}</b></p>`
  return page(200, messages, amount, `${where}<p>${messages.later}</p>${until}`)
}

/** The customer's return link. It shows the host that it leads to. */
function backTo({ returnUrl }: Payment, messages: PayPageMessages): string {
  const host = returnUrl === null ? undefined : URL.parse(returnUrl)?.host
  if (returnUrl === null || host === undefined) return ''
  return `<p><a href="${escapeHtml(returnUrl)}" rel="noreferrer nofollow">${messages.back} ${escapeHtml(host)}</a></p>`
}

function page(status: number, { language }: PayPageMessages, title: string, content: string): Response {
  return new Response(pages.write(language, title, title, content), {
    status,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      Vary: 'Accept-Language',
      'Content-Security-Policy': pages.policy,
      'X-Robots-Tag': 'noindex, nofollow',
    },
  })
}
