import type { Format, Language } from './format.ts'
import { createTranslator } from './refusals/translate.ts'
import { methodNames, tradeMessages } from './trade.ts'

/** The notes that the shop writes beside movements of money; an operator's own note is not translated. */
const translate = createTranslator([
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
])

export function sayNote(note: string, language: Language, format: Format): string {
  if (language === 'en') return note
  const said = translate(note, format)
  if (said === undefined) return note
  return said.replace(/: (\w+)$/, (whole, code: string) => {
    const name = tradeMessages.ru.pools[code] ?? methodNames.ru[code]
    return name === undefined ? whole : `: ${name.toLowerCase()}`
  })
}
