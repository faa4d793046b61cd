import type { Address } from '../../core/address.ts'
import type { RandomBytes } from '../../core/ids.ts'
import { type Kopecks, kopecks, toRoubles } from '../../core/money.ts'
import { Refusal, refuseField } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { Brand } from '../../domains/brand/rules.ts'
import type { Customers } from '../../domains/customers/index.ts'
import type { Payments } from '../../domains/payments/index.ts'
import { isOpen, type Payment, toPay } from '../../domains/payments/rules.ts'
import type { Identities, OpenedSession, Registration } from '../../domains/signin/index.ts'
import { readBytes } from '../body.ts'
import type { PublicCatalogue } from '../customer/catalogue/public-catalogue.ts'
import { readPurchase } from '../customer/payments/routes.ts'
import { escapeHtml } from '../html-page.ts'
import type { AnswerLanguage } from '../language.ts'
import type { PlainRoute } from '../plain-route.ts'
import { assertSameOrigin, findCookie, isTls, toCookie, toEnteredCookie, visitorOf } from '../session.ts'
import { sayRefusal } from './calculator.ts'
import { orderText, priceOrder, readOrder, sayOrder, toPurchase, type VisitorOrder } from './order.ts'
import { frontWriter, writePage } from './page.ts'
import { readReferral } from './referral.ts'
import { type FrontDeps, htmlHeaders, languageOfUrl, readShown, siteOf } from './routes.ts'
import { findSignedIn } from './signed-in.ts'
import type { Writer } from './writer.ts'

export type BuyDeps = Pick<FrontDeps, 'readCatalogue' | 'brands' | 'publicUrl' | 'signIn'> & {
  readonly registration: Pick<Registration, 'askToBuy' | 'enterToBuy' | 'lookAtBuying' | 'offers'>
  readonly identities: Pick<Identities, 'profile'>
  readonly payments: Pick<Payments, 'begin' | 'methods'>
  readonly customers: Pick<Customers, 'payerOf'>
  readonly sha256: (text: string) => Uint8Array
  readonly random: RandomBytes
  readonly clock: Clock
}

/** A purchase between the form and the payment, as the link of the letter keeps it. */
type Started = {
  /** The payment's key: the same for each letter about one order of one browser to one address. */
  readonly attempt: string
  readonly order: string
  readonly method: string
  readonly amount: string
  readonly price: string
}

/** All that a page of the purchase is written with. */
type Visit = {
  readonly catalogue: PublicCatalogue
  readonly brand: Brand
  readonly language: AnswerLanguage
  readonly writer: Writer
}

const perMinute = 120
/** How often and how long a page waits for a payment that another request begins. */
const [maxWaits, waitMs] = [40, 250]
const cookie = 'turnpike_visit'
const cookieSeconds = 86_400

/** The pages by which a visitor buys, without JavaScript: order and e-mail, the link of the letter, the payment. */
export function buyRoutes(deps: BuyDeps): readonly PlainRoute[] {
  const guarded =
    (answer: (request: Request, visit: Visit, from: Address | undefined) => Promise<Response>): PlainRoute['answer'] =>
    async (request, _, from) => {
      const visit = await openVisit(deps, request)
      try {
        if (request.method === 'POST') assertSameOrigin(request, deps.publicUrl())
        return await answer(request, visit, from)
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        const refused = page(deps, visit, visit.writer.say('notDone'), refusalOf(visit, error), {
          status: error.kind === 'too_many' ? 429 : 400,
        })
        if (error.retryAfterSeconds) refused.headers.set('Retry-After', String(error.retryAfterSeconds))
        return refused
      }
    }
  return [
    {
      path: '/buy',
      takes: 'GET and POST',
      perMinute,
      answer: guarded((request, visit, from) =>
        request.method === 'POST' ? sendLetter(deps, request, visit, from) : showOrder(deps, request, visit),
      ),
    },
    {
      path: '/buy/continue',
      takes: 'GET and POST',
      perMinute,
      answer: guarded((request, visit, from) =>
        request.method === 'POST' ? enterAndPay(deps, request, visit, from) : showLink(deps, request, visit),
      ),
    },
  ]
}

async function openVisit(deps: BuyDeps, request: Request): Promise<Visit> {
  const { catalogue, brand } = await readShown(deps)
  const language = languageOfUrl(request, new URL(request.url))
  return { catalogue, brand, language, writer: frontWriter(catalogue, brand, language) }
}

type Also = {
  readonly status?: number
  readonly cookies?: readonly string[]
  /** The order, which the link to the other language keeps. */
  readonly query?: string
}

function page(deps: BuyDeps, { brand, language, writer }: Visit, title: string, content: string, also: Also = {}) {
  const main = `<main id="content" class="wide text"><h1>${title}</h1>\n<div class="card">${content}</div></main>`
  const site = siteOf({ ...deps, sellsToVisitors: true }, brand)
  const text = writePage(writer, site, {
    path: also.query === undefined ? '/' : '/buy',
    query: also.query,
    title: brand.name,
    description: title,
    main,
  })
  const headers = new Headers({
    ...htmlHeaders(brand, language),
    // The address of the letter's link goes to no other site, and forms of this page have an `Origin`.
    'Referrer-Policy': 'same-origin',
    'X-Robots-Tag': 'noindex, nofollow',
  })
  for (const each of also.cookies ?? []) headers.append('Set-Cookie', each)
  return new Response(text, { status: also.status ?? 200, headers })
}

function refusalOf({ writer }: Visit, refusal: Refusal): string {
  const { say, rub, language } = writer
  const { price_rub: price } = refusal.reason === 'price_changed' ? (refusal.params as { price_rub?: number }) : {}
  const isFull = refusal.reason === 'too_many_attempts'
  const advice = isFull ? `<p>${say('tooManyLetters')}</p>` : ''
  const text = price === undefined ? escapeHtml(sayRefusal(writer, refusal)) : `${say('priceNow')}: ${rub(price)}.`
  return `<p class="none">${text}</p>${advice}<p>${say('notCharged')}</p>
<p><a href="/?lang=${language}">${say('back')}</a> · <a href="/account">${say('account')}</a></p>`
}

const readForm = async (request: Request): Promise<URLSearchParams> =>
  new URLSearchParams(new TextDecoder().decode(await readBytes(request)))

function priced({ priceList }: PublicCatalogue, order: VisitorOrder): Kopecks {
  if (!priceList) throw new Refusal('no_prices')
  return priceOrder(priceList, order)
}

/** The order, its price, and the form for the e-mail address. */
async function showOrder(deps: BuyDeps, request: Request, visit: Visit): Promise<Response> {
  if (await findSignedIn(deps, request)) {
    return new Response(null, { status: 303, headers: { Location: '/account' } })
  }
  const { writer, language } = visit
  const { say } = writer
  const sent = new URL(request.url).searchParams
  const order = readOrder(sent)
  const referral = readReferral(sent)
  const refs: [string, string][] = referral === undefined ? [] : [['ref', referral]]
  const price = priced(visit.catalogue, order)
  const hidden = [...new URLSearchParams(orderText(order)), ...refs].map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`,
  )
  const methods = (await deps.payments.methods()).map(
    ({ method, name }) => `<option value="${escapeHtml(method)}">${writer.payBy(method, name)}</option>`,
  )
  const content = `<h2>${say('yourOrder')}</h2><p>${sayOrder(writer, order)}</p>
<p><span class="price">${writer.rub(toRoubles(price))}</span></p>
<form action="/buy?lang=${language}" method="post">${hidden.join('')}
<input type="hidden" name="price" value="${price}">
<label>${say('email')}<input name="email" type="email" autocomplete="email" maxlength="254" required></label>
<label>${say('method')}<select name="method">${methods.join('')}</select></label>
<button class="button" type="submit">${say('goOn')}</button></form>
<p class="dim">${say('emailHint')}</p>`
  const known = findCookie(request, cookie)
  const query = new URLSearchParams([...new URLSearchParams(orderText(order)), ...refs]).toString()
  const cookies = [visitCookie(deps, known ?? makeVisit(deps))]
  return page(deps, visit, say('buy'), content, { cookies, query })
}

const makeVisit = ({ random }: BuyDeps): string => random(24).toBase64({ alphabet: 'base64url' })

/** Reloads, the back button and further tabs of a browser bring the same one, and so the same attempt. */
const visitCookie = ({ publicUrl }: BuyDeps, value: string): string =>
  `${cookie}=${value}; Path=/buy; HttpOnly; SameSite=Lax; Max-Age=${cookieSeconds}` +
  (isTls(publicUrl()) ? '; Secure' : '')

/** Sends the letter. The answer is the same whether the address has an account or not. */
async function sendLetter(deps: BuyDeps, request: Request, visit: Visit, from: Address | undefined): Promise<Response> {
  const form = await readForm(request)
  const order = readOrder(form)
  const price = priced(visit.catalogue, order)
  const accepted = /^\d{1,15}$/.test(form.get('price') ?? '') ? BigInt(form.get('price') ?? '') : 0n
  if (price > accepted) {
    throw new Refusal('price_changed', { price_rub: toRoubles(price), max_price_rub: toRoubles(kopecks(accepted)) })
  }
  // Before the letter is sent: the payment would refuse it after the account was opened.
  readPurchase(toPurchase(order, Number(price) / 100))
  const method = (await deps.payments.methods()).find((each) => each.method === form.get('method'))
  if (!method) throw refuseField('method', 'payment_method')
  // A method has a smallest amount. The part above the price stays on the balance.
  const amount = price < method.min ? method.min : price
  const email = (form.get('email') ?? '').trim()
  const visitText = findCookie(request, cookie) ?? makeVisit(deps)
  const facts = ['visit', visitText, email.toLowerCase(), orderText(order), method.method]
  const started: Started = {
    attempt: deps.sha256(JSON.stringify(facts)).toHex(),
    order: orderText(order),
    method: method.method,
    amount: String(amount),
    price: String(price),
  }
  const asked = { email, purchase: JSON.stringify(started), ref: readReferral(form) }
  await deps.registration.askToBuy(asked, visitorOf(request, from))
  const { say } = visit.writer
  const query = new URLSearchParams([['lang', visit.language], ...new URLSearchParams(orderText(order))])
  if (asked.ref !== undefined) query.set('ref', asked.ref)
  const content = `<p>${say('sentAbout', { email })}</p>
<p><a href="${escapeHtml(`/buy?${query.toString()}`)}">${say('again')}</a></p>`
  return page(deps, visit, say('sent'), content, { cookies: [visitCookie(deps, visitText)] })
}

/** The page of the letter's link has a button, because mail servers and messengers open links by themselves. */
async function showLink(deps: BuyDeps, request: Request, visit: Visit): Promise<Response> {
  const link = new URL(request.url).searchParams.get('link') ?? ''
  const { email } = await deps.registration.lookAtBuying(link)
  const { say } = visit.writer
  return page(deps, visit, say('confirm'), `<p>${say('confirmAbout', { email })}</p>${linkForm(visit, link)}`)
}

function linkForm({ writer: { say, language } }: Visit, link: string, more = ''): string {
  return `<form action="/buy/continue?lang=${language}" method="post">
<input type="hidden" name="link" value="${escapeHtml(link)}">${more}
<button class="button" type="submit">${say('goOn')}</button></form>`
}

const mayReplace = '<input type="hidden" name="replace" value="yes">'

/** Who is signed in with this browser, if the link is for another address: its owner would get the money. */
async function findReplaced(deps: BuyDeps, request: Request, email: string): Promise<string | undefined> {
  const session = await findSignedIn(deps, request)
  if (!session) return undefined
  const { login, email: known } = await deps.identities.profile(session.owner)
  return [login, known].includes(email) ? undefined : (known ?? login ?? session.owner.id)
}

const asksForCode = ({ details }: Refusal): boolean =>
  details !== null && 'code_required' in details && details['code_required'] === true

/** Opens the account and begins the payment, once for each attempt. */
async function enterAndPay(deps: BuyDeps, request: Request, visit: Visit, from: Address | undefined) {
  const form = await readForm(request)
  const link = form.get('link') ?? ''
  const code = form.get('code') ?? undefined
  const { say } = visit.writer
  if (form.get('replace') !== 'yes') {
    const { email } = await deps.registration.lookAtBuying(link)
    const name = await findReplaced(deps, request, email)
    if (name !== undefined) {
      const stay = `<p><a href="/account">${say('stay', { name })}</a></p>`
      const content = `<p>${say('replaceAbout', { name, email })}</p>${linkForm(visit, link, mayReplace)}${stay}`
      return page(deps, visit, say('confirm'), content)
    }
  }
  let entered: Awaited<ReturnType<Registration['enterToBuy']>>
  try {
    entered = await deps.registration.enterToBuy({ link, code }, visitorOf(request, from))
  } catch (error) {
    if (!(error instanceof Refusal) || !asksForCode(error)) throw error
    const attributes = 'name="code" autocomplete="one-time-code" maxlength="32" required'
    const input = `<label>${say('code')}<input ${attributes}></label>`
    return page(deps, visit, say('confirm'), linkForm(visit, link, mayReplace + input))
  }
  const { opened, buying } = entered
  const { session, secret, isCleared } = opened
  const notice = isCleared ? `<p><strong>${say('cleared')}</strong></p>` : ''
  const cookies = [
    toCookie('customer', secret, session.expiresAt - deps.clock(), deps.publicUrl()),
    toEnteredCookie(deps.publicUrl()),
  ]
  try {
    const payment = await begin(deps, opened, buying.email, readStarted(buying.purchase))
    return showPayment(deps, visit, payment, cookies, notice)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    // The visitor is signed in: the link has been used up.
    return page(deps, visit, say('notDone'), notice + refusalOf(visit, error), { status: 400, cookies })
  }
}

function readStarted(text: string): Started {
  const value: unknown = JSON.parse(text)
  const fields = new Map<string, unknown>(typeof value === 'object' && value !== null ? Object.entries(value) : [])
  const read = (name: keyof Started): string => {
    const found = fields.get(name)
    return typeof found === 'string' ? found : ''
  }
  return {
    attempt: read('attempt'),
    order: read('order'),
    method: read('method'),
    amount: read('amount'),
    price: read('price'),
  }
}

async function begin(deps: BuyDeps, { session }: OpenedSession, email: string, of: Started): Promise<Payment> {
  const { owner } = session
  if (owner.kind !== 'customer') throw new Error('a visitor was signed in as an operator')
  const wantsEmail = (await deps.payments.methods()).some((each) => each.method === of.method && each.wantsEmail)
  const topUp = {
    amount: kopecks(BigInt(of.amount)),
    method: of.method,
    // Shows what was bought.
    returnUrl: `${deps.publicUrl()}/account#/payments/last`,
    email: wantsEmail ? email : undefined,
    purchase: readPurchase(toPurchase(readOrder(new URLSearchParams(of.order)), Number(of.price) / 100)),
  }
  const by = await deps.customers.payerOf(owner.id, null)
  // Another letter about the same order may be opened at the same moment: its payment is this one.
  for (let waits = 0; ; waits += 1) {
    try {
      return (await deps.payments.begin(by, `visit-${of.attempt}`, topUp, deps.publicUrl())).payment
    } catch (error) {
      const isRunning = error instanceof Refusal && error.reason === 'request_in_progress'
      if (!isRunning || waits >= maxWaits) throw error
      await Bun.sleep(waitMs)
    }
  }
}

/** A page with a link: the browser's policy for forms forbids a redirect to a provider's site. */
function showPayment(
  deps: BuyDeps,
  visit: Visit,
  payment: Payment,
  cookies: readonly string[],
  notice: string,
): Response {
  const { say, rub } = visit.writer
  const account = `<p><a href="/account">${say('account')}</a></p>`
  if (payment.payUrl === null || !isOpen(payment.state)) {
    const isPaid = payment.state === 'paid'
    const content = `${notice}<p>${isPaid ? say('paid') : say('over')}</p>${account}`
    // The next order of this browser is another one.
    const fresh = [...cookies, visitCookie(deps, makeVisit(deps))]
    return page(deps, visit, isPaid ? say('paid') : say('notDone'), content, { cookies: fresh })
  }
  const label = `${say('payNow')} ${rub(toRoubles(toPay(payment)))}`
  const url = new URL(payment.payUrl)
  if (url.origin === URL.parse(deps.publicUrl())?.origin) url.searchParams.set('language', visit.language)
  const content = `${notice}<p>${say('payNowAbout')}</p>
<p><a class="button" href="${escapeHtml(url.href)}" rel="noreferrer">${label}</a></p>${account}`
  return page(deps, visit, say('confirm'), content, { cookies })
}
