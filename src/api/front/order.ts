import type { Kopecks } from '../../core/money.ts'
import { refuseField } from '../../core/refusal.ts'
import { type Catalogue, priceDedicated, priceTraffic, priceVpn } from '../../domains/pricing/rules.ts'
import { kindTexts, poolTexts } from './texts.ts'
import type { Writer } from './writer.ts'

/** The fields of each product's order in a link or a form. */
const fieldsOf = {
  dedicated: ['ipv', 'country', 'period', 'count'],
  traffic: ['pool', 'gb'],
  vpn: ['months'],
} as const
type Product = keyof typeof fieldsOf

/** What a visitor wants to buy, as the fields of a form. */
export type VisitorOrder = { readonly product: Product; readonly fields: Readonly<Record<string, string>> }

const isProduct = (text: string | null): text is Product => text !== null && Object.hasOwn(fieldsOf, text)

/** The order of a query or a form; the price list judges its values. */
export function readOrder(sent: URLSearchParams): VisitorOrder {
  const product = sent.get('product')
  if (!isProduct(product)) throw refuseField('product', 'one_of', { allowed: Object.keys(fieldsOf) })
  const fields = fieldsOf[product].map((name) => [name, (sent.get(name) ?? '').slice(0, 64)] as const)
  return { product, fields: Object.fromEntries(fields) }
}

/** A form's fields in one text: two forms with the same order have the same. */
export const orderText = ({ product, fields }: VisitorOrder): string =>
  new URLSearchParams([['product', product], ...Object.entries(fields)]).toString()

const whole = (text = ''): number => (/^[1-9]\d{0,5}$/.test(text) ? Number(text) : Number.NaN)
const tenths = (text = ''): number => (/^\d{1,5}(\.\d)?$/.test(text) ? Math.round(Number(text) * 10) : Number.NaN)

/** The price now. The price list refuses what it does not sell. */
export function priceOrder(priceList: Catalogue, { product, fields }: VisitorOrder): Kopecks {
  const numberOf = (name: string, value: number): number => {
    if (Number.isNaN(value)) throw refuseField(name, 'wrong_format')
    return value
  }
  if (product === 'vpn') return priceVpn(priceList, numberOf('months', whole(fields['months']))).total
  if (product === 'traffic') {
    return priceTraffic(priceList, fields['pool'] ?? '', numberOf('gb', tenths(fields['gb']))).total
  }
  return priceDedicated(priceList, {
    country: fields['country'] ?? '',
    ipv: numberOf('ipv', whole(fields['ipv'])),
    period: numberOf('period', whole(fields['period'])),
    count: numberOf('count', whole(fields['count'])),
  }).total
}

/** The order as `purchase` of `POST /payments` has it. */
export function toPurchase({ product, fields }: VisitorOrder, maxPriceRub: number): Readonly<Record<string, unknown>> {
  const limit = { max_price_rub: maxPriceRub }
  if (product === 'vpn') return { product, period: Number(fields['months']), ...limit }
  if (product === 'traffic') return { product, pool_type: fields['pool'], gb: Number(fields['gb']), ...limit }
  const { country, ipv, period, count } = fields
  return { product, country_code: country, ipv: Number(ipv), period: Number(period), count: Number(count), ...limit }
}

/** The order in words. */
export function sayOrder({ say, of, shown }: Writer, { product, fields }: VisitorOrder): string {
  const months = Number(fields['months'])
  if (product === 'vpn') return `VPN, ${months === 1 ? say('oneMonth') : say('month', { months })}`
  if (product === 'traffic') {
    const name = poolTexts[fields['pool'] ?? '']
    return `${name ? of(name) : say('premium')}, ${say('gigabytes', { gb: fields['gb'] ?? '' })}`
  }
  const [kind] = kindTexts[Number(fields['ipv'])] ?? []
  const countries = shown.dedicated.kinds.flatMap((each) => each.countries)
  const country = countries.find((each) => each.country_code === fields['country'])
  const name = country ? of({ en: country.name, ru: country.name_ru }) : ''
  const term = say('days', { days: fields['period'] ?? '' })
  return [kind ? of(kind) : '', name, term, `× ${Number(fields['count'])}`].join(', ')
}
