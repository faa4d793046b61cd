import { createFormat, type Language } from './messages.tsx'
import { methodNames, tradeMessages } from './trade.ts'

/**
 * The notes that the shop stores with postings, and their translations. `{}` is a variable part; `{months}` and
 * `{days}` are numbers with their noun. The hash chain covers the stored English note. An operator's own note is not
 * translated.
 */
const notes = (
  [
    ['VPN for {} month', 'VPN на {months}'],
    ['VPN for {} months', 'VPN на {months}'],
    ['VPN deleted before its end, {} month', 'VPN удалён досрочно, {months}'],
    ['VPN deleted before its end, {} months', 'VPN удалён досрочно, {months}'],
    ['{} × {} shared IPv4, {} days', '{} × {}, общий IPv4, {days}'],
    ['{} × {} {}, {} days', '{} × {}, {}, {days}'],
    ['prolonged {} by {} days', 'продление прокси: {}, на {days}'],
    ['renewed {} by {} days', 'автопродление прокси: {}, на {days}'],
    ['moved {} traffic', 'перенос трафика: {}'],
    ['deleted sub-user {}', 'удалён субпользователь {}'],
    ['sandbox money', 'деньги песочницы'],
    ['top-up by {}', 'пополнение: {}'],
    ['{} payment taken back', 'возврат платежа: {}'],
    ['share of a top-up', 'награда за приглашение'],
    ['share of a top-up taken back', 'награда за приглашение списана'],
    ['code {} taken back', 'бонус по промокоду {} списан'],
    ['code {}', 'промокод {}'],
    ['{} GB {}', '{} ГБ: {}'],
  ] as const
).map(([english, russian]) => ({ pattern: toPattern(english), russian }))

function toPattern(english: string): RegExp {
  const escaped = english.split('{}').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${escaped.join('(.+?)')}$`, 's')
}

const format = createFormat('ru')

/** Puts the value into the first placeholder of the text. */
const fillNext = (text: string, value: string): string =>
  text.replace(/\{(\w*)\}/, (_, unit: string) => {
    if (unit === 'months') return format.plural(Number(value), 'месяц', 'месяца', 'месяцев')
    if (unit === 'days') return format.plural(Number(value), 'день', 'дня', 'дней')
    return value
  })

function translate(note: string): string | undefined {
  for (const { pattern, russian } of notes) {
    const found = pattern.exec(note)
    if (found) return found.slice(1).reduce(fillNext, russian as string)
  }
  return undefined
}

export function sayNote(note: string, language: Language): string {
  if (language === 'en') return note
  const translated = translate(note)
  if (translated === undefined) return note
  return translated.replace(/: (\w+)$/, (whole, code: string) => {
    const name = tradeMessages.ru.pools[code] ?? methodNames.ru[code]
    return name === undefined ? whole : `: ${name.toLowerCase()}`
  })
}
