import { readId } from '../../../core/ids.ts'
import { toRoubleText } from '../../../core/money.ts'
import { toIso } from '../../../core/time.ts'
import type { Payments } from '../../../domains/payments/index.ts'
import { isOpen, type Payment, toPay } from '../../../domains/payments/rules.ts'
import { createHtmlPages, escapeHtml } from '../../html-page.ts'
import type { PlainRoute } from '../../http.ts'
import { type AnswerLanguage, languageOf } from '../../language.ts'

const texts = {
  currency: { en: 'RUB', ru: '₽' },
  nothing: { en: 'Nothing to pay here', ru: 'Здесь нечего оплачивать' },
  nothingAbout: { en: 'There is no such payment at this link.', ru: 'По этой ссылке такого платежа нет.' },
  notHere: { en: 'Not paid here', ru: 'Здесь это не оплачивается' },
  notHereAbout: { en: 'This is not paid with a button.', ru: 'Это не оплачивается кнопкой.' },
  paid: { en: 'This is paid.', ru: 'Оплачено.' },
  refunded: { en: 'This was paid and has gone back.', ru: 'Было оплачено и возвращено.' },
  over: { en: 'This is over.', ru: 'Время вышло.' },
  until: { en: 'Until', ru: 'До' },
  sandbox: { en: 'A sandbox: no money is paid.', ru: 'Это песочница: никто ничего не платит.' },
  pay: { en: 'Pay', ru: 'Оплатить' },
  purpose: { en: 'Give this as the purpose:', ru: 'Укажите назначение платежа:' },
  later: { en: 'It is credited when the seller has the money.', ru: 'Зачислится, когда деньги будут у продавца.' },
  back: { en: 'Back to', ru: 'Вернуться на' },
}

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
      const language = languageOf(request.headers)
      const id = readId('payment', params['payment'] ?? '')
      const found = id && (await payments.findOurs(id))
      if (!id || !found) return page(404, language, texts.nothing[language], `<p>${texts.nothingAbout[language]}</p>`)
      if (request.method !== 'POST') return show(found.payment, found.details, language)
      const paid = found.payment.provider === 'sandbox' ? await payments.payInSandbox(id) : undefined
      return paid
        ? show(paid, undefined, language)
        : page(409, language, texts.notHere[language], `<p>${texts.notHereAbout[language]}</p>`)
    },
  }
}

function show(payment: Payment, details: string | undefined, language: AnswerLanguage): Response {
  const amount = `${toRoubleText(toPay(payment))} ${texts.currency[language]}`
  if (!isOpen(payment.state)) {
    const outcome = payment.state === 'paid' || payment.state === 'refunded' ? payment.state : 'over'
    return page(200, language, amount, `<p>${texts[outcome][language]}</p>${backTo(payment, language)}`)
  }
  const moment = toIso(payment.expiresAt).slice(0, 16).replace('T', ' ')
  const until = `<p><small>${texts.until[language]} ${moment} UTC</small></p>`
  if (payment.provider === 'sandbox') {
    const form = `<form method="post"><button type="submit">${texts.pay[language]}</button></form>`
    return page(200, language, amount, `<p>${texts.sandbox[language]}</p>${form}${until}`)
  }
  const where = `<p>${escapeHtml(details ?? '')}</p><p>${texts.purpose[language]} <b>${payment.id}</b></p>`
  return page(200, language, amount, `${where}<p>${texts.later[language]}</p>${until}`)
}

/** The customer's return link. It shows the host that it leads to. */
function backTo({ returnUrl }: Payment, language: AnswerLanguage): string {
  const host = returnUrl === null ? undefined : URL.parse(returnUrl)?.host
  if (returnUrl === null || host === undefined) return ''
  const label = `${texts.back[language]} ${escapeHtml(host)}`
  return `<p><a href="${escapeHtml(returnUrl)}" rel="noreferrer nofollow">${label}</a></p>`
}

function page(status: number, language: AnswerLanguage, title: string, content: string): Response {
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
