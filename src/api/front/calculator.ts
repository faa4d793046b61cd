import { toRoubles } from '../../core/money.ts'
import { Refusal, toSentDetails } from '../../core/refusal.ts'
import { type Catalogue, priceDedicated, type Step } from '../../domains/pricing/rules.ts'
import { escapeHtml } from '../html-page.ts'
import { type AnswerLanguage, problemsOf, sentencesOf } from '../language.ts'
import { kindTexts, stockTexts, texts } from './texts.ts'
import type { Writer } from './writer.ts'

/** What a visitor asks the price of. */
export type PriceQuestion = {
  readonly ipv: number
  readonly country: string
  readonly period: number
  readonly count: number
}

const maxCount = 1000
const usualPeriod = 30

/** The order in a query. A missing or malformed field has a default. Undefined while no proxies are on sale. */
export function readAsked(query: URLSearchParams, { shown }: Pick<Writer, 'shown'>): PriceQuestion | undefined {
  const { kinds } = shown.dedicated
  const kind =
    kinds.find((each) => String(each.ipv) === query.get('kind')) ?? kinds.find(({ ipv }) => ipv === 4) ?? kinds[0]
  if (!kind) return undefined
  const asked = query.get('country')?.toUpperCase()
  const country =
    kind.countries.find((each) => each.country_code === asked) ??
    kind.countries.find(({ stock }) => stock !== 'none') ??
    kind.countries[0]
  if (!country) return undefined
  const periods = country.prices.map((each) => each.period)
  const wanted = Number(query.get('period') ?? usualPeriod)
  const period = periods.includes(wanted) ? wanted : (periods.findLast((each) => each <= wanted) ?? periods[0] ?? 0)
  const count = /^[1-9]\d{0,3}$/.test(query.get('count') ?? '') ? Math.min(maxCount, Number(query.get('count'))) : 1
  return { ipv: kind.ipv, country: country.country_code, period, count }
}

/** The form, which works without JavaScript: it asks for the same page with its fields in the query. */
export function writeCalculator(writer: Writer, priceList: Catalogue | undefined, asked: PriceQuestion): string {
  const { say, of, language } = writer
  const { kinds } = writer.shown.dedicated
  const all = kinds.flatMap((each) => each.countries)
  const countries = [...new Map(all.map((each) => [each.country_code, each])).values()]
  const periods = [...new Set(all.flatMap((each) => each.prices.map(({ period }) => period)))].toSorted((a, b) => a - b)
  const option = (value: string | number, label: string, chosen: string | number) =>
    `<option value="${value}"${value === chosen ? ' selected' : ''}>${label}</option>`
  const kindOptions = kinds.map(({ ipv }) => option(ipv, of(nameOfKind(ipv)), asked.ipv))
  const countryOptions = countries.map((each) =>
    option(each.country_code, escapeHtml(language === 'ru' ? each.name_ru : each.name), asked.country),
  )
  const periodOptions = periods.map((days) => option(days, say('days', { days }), asked.period))
  return `<section id="calculator" aria-labelledby="calculator-title">
<h2 id="calculator-title">${say('calculator')}</h2>
<div class="card"><form id="calculate" action="/#calculator" method="get">
<input type="hidden" name="lang" value="${language}">
<label>${say('kind')}<select name="kind">${kindOptions.join('')}</select></label>
<label>${say('country')}<select name="country">${countryOptions.join('')}</select></label>
<label>${say('period')}<select name="period">${periodOptions.join('')}</select></label>
<label>${say('count')}<input name="count" type="number" min="1" max="${maxCount}" inputmode="numeric" \
value="${asked.count}" required></label>
<button class="button" type="submit">${say('show')}</button>
</form>
<div class="result" id="result" role="status">${writePrice(writer, priceList, asked)}</div></div></section>`
}

const nameOfKind = (ipv: number) => kindTexts[ipv]?.[0] ?? { en: `IPv${ipv}`, ru: `IPv${ipv}` }

/** The price of an order, its discounts and the stock; or why it has none. */
export function writePrice(writer: Writer, priceList: Catalogue | undefined, asked: PriceQuestion): string {
  const { say, of, rub } = writer
  const count = new Intl.NumberFormat(writer.language)
  try {
    if (!priceList) throw new Refusal('no_prices')
    const { total, full, perProxy, discountPercent } = priceDedicated(priceList, asked)
    const kind = writer.shown.dedicated.kinds.find((each) => each.ipv === asked.ipv)
    const stock = kind?.countries.find((each) => each.country_code === asked.country)?.stock ?? 'none'
    const buy = stock === 'none' ? '' : writer.buyButton({ product: 'dedicated', ...asked })
    const each = `<span class="dim">${rub(toRoubles(perProxy))} ${say('each')}</span>`
    const before =
      discountPercent > 0 ? ` <span class="dim">${say('instead')} <s>${rub(toRoubles(full))}</s></span>` : ''
    const parts = discountsOf(writer, priceList, asked)
    const why = parts.length > 0 ? `<p>${say('discount')}: ${parts.join(', ')}. ${say('larger')}</p>` : ''
    // Fields may have another number or term than the price: a number above the limit, a term that is not sold.
    const term = `${say('period')}: ${say('days', { days: asked.period })}`
    const what = `<p>${say('count')}: ${count.format(asked.count)} · ${term}</p>`
    return `${what}<p><span class="price">${rub(toRoubles(total))}</span>${before}</p><p>${each}</p>${why}
<p class="${stock}">${of(stockTexts[stock])}</p>${buy}`
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return `<p class="none">${escapeHtml(sayRefusal(writer, error))}</p>`
  }
}

/** The labels of fields, by their names in the API. */
const labels: Readonly<Record<string, Readonly<Record<AnswerLanguage, string>>>> = {
  count: texts.count,
  period: texts.period,
  country: texts.country,
  country_code: texts.country,
  ipv: texts.kind,
  email: texts.email,
  method: texts.method,
}

/** A field's problem is said with the label of the field, not with its name in the API. */
export function sayRefusal({ language }: Writer, refusal: Refusal): string {
  const details = toSentDetails(refusal.details, problemsOf[language])
  const [first] = Array.isArray(details) ? (details as readonly { field: string; problem: string }[]) : []
  if (!first) return refusal.say(sentencesOf[language])
  const label = labels[first.field.replace(/^purchase\./, '')]
  return label ? `${label[language]}: ${first.problem}` : first.problem
}

function discountsOf({ say }: Writer, { dedicated }: Catalogue, { ipv, count, period }: PriceQuestion): string[] {
  const kind = dedicated.kinds.get(ipv)
  const at = (steps: readonly Step[] = [], value: number) => steps.findLast((each) => each.from <= value)
  const [volume, term] = [at(kind?.volume, count), at(kind?.term, period)]
  return [
    ...(volume ? [say('byCount', { percent: volume.off / 100, from: volume.from })] : []),
    ...(term ? [say('byTerm', { percent: term.off / 100, from: term.from })] : []),
  ]
}
