import type { Language } from './messages.tsx'
import { methodNames, tradeMessages } from './trade.ts'

/**
 * The notes that the shop stores with postings, and their translations. `{}` is a variable part. The hash chain covers
 * the stored English note. An operator's own note is not translated.
 */
const notes = (
  [
    ['VPN for {} month', 'VPN, месяцев: {}'],
    ['VPN for {} months', 'VPN, месяцев: {}'],
    ['VPN deleted before its end, {} month', 'VPN удалён до срока, месяцев: {}'],
    ['VPN deleted before its end, {} months', 'VPN удалён до срока, месяцев: {}'],
    ['{} × {} shared IPv4, {} days', '{} × {}, общий IPv4, дней: {}'],
    ['{} × {} {}, {} days', '{} × {}, {}, дней: {}'],
    ['prolonged {} by {} days', 'продлено прокси: {}, дней: {}'],
    ['renewed {} by {} days', 'автопродление прокси: {}, дней: {}'],
    ['moved {} traffic', 'перенос трафика: {}'],
    ['deleted sub-user {}', 'удалён субпользователь {}'],
    ['sandbox money', 'деньги песочницы'],
    ['top-up by {}', 'пополнение: {}'],
    ['{} payment taken back', 'платёж отозван: {}'],
    ['share of a top-up', 'доля от пополнения'],
    ['share of a top-up taken back', 'доля от пополнения снята'],
    ['code {} taken back', 'бонус по коду {} снят'],
    ['code {}', 'код {}'],
    ['{} GB {}', '{} ГБ: {}'],
  ] as const
).map(([english, russian]) => ({ pattern: toPattern(english), russian }))

function toPattern(english: string): RegExp {
  const escaped = english.split('{}').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${escaped.join('(.+?)')}$`, 's')
}

function translate(note: string): string | undefined {
  for (const { pattern, russian } of notes) {
    const found = pattern.exec(note)
    if (found) return found.slice(1).reduce((text, value) => text.replace('{}', () => value), russian as string)
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
