export type Language = 'en' | 'ru'

const units: Readonly<Record<Language, readonly string[]>> = {
  en: ['B', 'kB', 'MB', 'GB', 'TB'],
  ru: ['Б', 'КБ', 'МБ', 'ГБ', 'ТБ'],
}

const dayMs = 86_400_000
const hourMs = 3_600_000
const minuteMs = 60_000

/** A duration in its largest unit that is at least 1, else in minutes. */
function apart(ms: number): readonly [count: number, unit: 'day' | 'hour' | 'minute'] {
  const size = Math.abs(ms)
  if (size >= dayMs) return [Math.trunc(ms / dayMs), 'day']
  if (size >= hourMs) return [Math.trunc(ms / hourMs), 'hour']
  return [Math.trunc(ms / minuteMs), 'minute']
}

/** Writes numbers, money and times in a language. Money is roubles; kopecks are shown if there are any. */
export function createFormat(language: Language) {
  const amount = (digits: number) =>
    new Intl.NumberFormat(language, {
      style: 'currency',
      currency: 'RUB',
      currencyDisplay: 'narrowSymbol',
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    })
  const [whole, exact] = [amount(0), amount(2)]
  const number = new Intl.NumberFormat(language, { maximumFractionDigits: 2 })
  const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' })
  const moment = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' })
  const day = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short' })
  const dayOfYear = new Intl.DateTimeFormat(language, { dateStyle: 'medium' })
  const places = new Intl.DisplayNames(language, { type: 'region' })
  const plural = new Intl.PluralRules(language)
  return {
    money: (roubles: number): string => (Number.isInteger(roubles) ? whole : exact).format(roubles),
    exactMoney: (roubles: number): string => exact.format(roubles),
    number: (value: number): string => number.format(value),
    moment: (iso: string): string => moment.format(new Date(iso)).replace(/\s*г\./, ''),
    /** With the year if it is not the current one. */
    day: (iso: string, nowAt: number = Date.now()): string => {
      const date = new Date(iso)
      const isThisYear = date.getFullYear() === new Date(nowAt).getFullYear()
      return (isThisYear ? day : dayOfYear).format(date).replace(/\s*г\.$/, '')
    },
    away: (iso: string, nowMs: number): string => relative.format(...apart(Date.parse(iso) - nowMs)),
    country: (code: string): string => places.of(code) ?? code,
    bytes: (count: number): string => {
      const step = count < 1 ? 0 : Math.min(units[language].length - 1, Math.floor(Math.log10(count) / 3))
      return `${number.format(count / 1000 ** step)} ${units[language][step] ?? ''}`
    },
    gigabytes: (count: number): string => `${number.format(count)} ${units[language][3] ?? ''}`,
    /** A number and its noun: `one`, `few` or `many` in Russian, `one` or `few` in English. */
    plural: (count: number, one: string, few: string, many: string = few): string => {
      const form = plural.select(count)
      return `${number.format(count)} ${form === 'one' ? one : form === 'few' ? few : many}`
    },
  }
}

export type Format = ReturnType<typeof createFormat>
