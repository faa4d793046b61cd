import { readId } from '../../../core/ids.ts'
import { createPrice } from '../../../core/messages/numbers.ts'
import { toRoubles } from '../../../core/money.ts'
import type { Brands } from '../../../domains/brand/index.ts'
import type { Brand } from '../../../domains/brand/rules.ts'
import type { Payments } from '../../../domains/payments/index.ts'
import { isOpen, type Payment, toPay } from '../../../domains/payments/rules.ts'
import { createHtmlPages, escapeHtml } from '../../html-page.ts'
import { type AnswerLanguage, languageOf } from '../../language.ts'
import type { PlainRoute } from '../../plain-route.ts'

const texts = {
  nothing: { en: 'Payment not found', ru: 'Платёж не найден' },
  nothingAbout: {
    en: 'Check the link, or create a new payment in the shop.',
    ru: 'Проверьте ссылку или создайте новый платёж в магазине.',
  },
  notHere: { en: 'This payment cannot be made here', ru: 'Этот платёж нельзя оплатить здесь' },
  notHereAbout: {
    en: 'No payment was made. Pay with the payment details of the seller.',
    ru: 'Оплата не выполнена. Оплатите по реквизитам продавца.',
  },
  paid: { en: 'Paid.', ru: 'Оплачено.' },
  refunded: { en: 'Paid and refunded.', ru: 'Оплачено и возвращено.' },
  over: { en: 'This payment has expired or was cancelled.', ru: 'Срок оплаты истёк, или платёж отменён.' },
  until: { en: 'Pay before', ru: 'Оплатить до' },
  sandbox: { en: 'Sandbox: no real money is paid.', ru: 'Это песочница: реальные деньги не списываются.' },
  pay: { en: 'Pay', ru: 'Оплатить' },
  purpose: { en: 'Enter this as the payment purpose:', ru: 'Укажите в назначении платежа:' },
  later: {
    en: 'Your balance is credited when the seller receives the money.',
    ru: 'Баланс пополнится, когда деньги поступят продавцу.',
  },
  contact: { en: 'Write to the seller:', ru: 'Написать продавцу:' },
  back: { en: 'Back to', ru: 'Вернуться на' },
}

const pages = createHtmlPages(
  'h1 { font-size: var(--text-3xl) } a, b { overflow-wrap: anywhere } form { margin: var(--space-4) 0 }\n',
  'self',
)

type PayPageDeps = { readonly payments: Payments; readonly brands: Pick<Brands, 'current'> }

/** The page of a sandbox payment or an invoice. It shows the amount and nothing about the customer. */
export function payPageRoute({ payments, brands }: PayPageDeps): PlainRoute {
  return {
    path: '/pay/:payment',
    takes: 'GET and POST',
    perMinute: 120,
    async answer(request, params) {
      const reader = { ...readerOf(request), brand: await brands.current() }
      const { language } = reader
      const id = readId('payment', params['payment'] ?? '')
      const found = id && (await payments.findOurs(id))
      if (!id || !found) return page(404, reader, texts.nothing[language], `<p>${texts.nothingAbout[language]}</p>`)
      if (request.method !== 'POST') return show(found.payment, found.details, reader)
      const paid = found.payment.provider === 'sandbox' ? await payments.payInSandbox(id) : undefined
      return paid
        ? show(paid, undefined, reader)
        : page(409, reader, texts.notHere[language], `<p>${texts.notHereAbout[language]}</p>`)
    },
  }
}

type PageReader = { readonly brand: Brand; readonly language: AnswerLanguage; readonly zone: string }

/** The console names its language and the browser's time zone in the link; else the headers and UTC count. */
function readerOf(request: Request): Omit<PageReader, 'brand'> {
  const { searchParams } = new URL(request.url)
  const named = searchParams.get('language')
  const language = named === 'en' || named === 'ru' ? named : languageOf(request.headers)
  const zone = searchParams.get('zone') ?? 'UTC'
  return { language, zone: isTimeZone(zone) ? zone : 'UTC' }
}

function isTimeZone(name: string): boolean {
  try {
    Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

const writeMoment = (at: number, { language, zone }: PageReader): string =>
  new Intl.DateTimeFormat(language, {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZone: zone,
    timeZoneName: 'short',
  }).format(at)

function show(payment: Payment, details: string | undefined, reader: PageReader): Response {
  const { language } = reader
  const amount = createPrice(language)(toRoubles(toPay(payment)))
  if (!isOpen(payment.state)) {
    const outcome = payment.state === 'paid' || payment.state === 'refunded' ? payment.state : 'over'
    return page(200, reader, amount, `<p>${texts[outcome][language]}</p>${backTo(payment, language)}`)
  }
  const until = `<p><small>${texts.until[language]} ${escapeHtml(writeMoment(payment.expiresAt, reader))}</small></p>`
  if (payment.provider === 'sandbox') {
    const form = `<form method="post"><button class="button" type="submit">${texts.pay[language]}</button></form>`
    return page(200, reader, amount, `<p>${texts.sandbox[language]}</p>${form}${until}`)
  }
  const where = `<p>${escapeHtml(details ?? '')}</p><p>${texts.purpose[language]} <b>${payment.id}</b></p>`
  return page(200, reader, amount, `${where}<p>${texts.later[language]}</p>${until}`)
}

/** The customer's return link. It shows the host that it leads to. */
function backTo({ returnUrl }: Payment, language: AnswerLanguage): string {
  const host = returnUrl === null ? undefined : URL.parse(returnUrl)?.host
  if (returnUrl === null || host === undefined) return ''
  const label = `${texts.back[language]} ${escapeHtml(host)}`
  return `<p><a href="${escapeHtml(returnUrl)}" rel="noreferrer nofollow">${label}</a></p>`
}

function writeTo({ brand: { contact }, language }: PageReader): string {
  if (contact === undefined) return ''
  const link = `<a href="${escapeHtml(contact.url)}" rel="noopener">${escapeHtml(contact.text)}</a>`
  return `<p><small>${texts.contact[language]} ${link}</small></p>`
}

function page(status: number, reader: PageReader, title: string, content: string): Response {
  return new Response(pages.write(reader.brand, reader.language, title, title, `${content}${writeTo(reader)}`), {
    status,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      Vary: 'Accept-Language',
      'Content-Security-Policy': pages.policyOf(reader.brand),
      'X-Robots-Tag': 'noindex, nofollow',
    },
  })
}
