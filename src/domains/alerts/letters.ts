import { type EventData, toEventData } from '../events/rules.ts'

type Sentences = { readonly en: string; readonly ru: string }

/** What a letter says about each type. */
const sentences: Readonly<Record<string, (of: (name: string) => string) => Sentences>> = {
  'stock.low': (of) => ({
    en: `Addresses ${of('country')}, kind ${of('ipv')}, run low: ${of('free')} of ${of('total')} are free.`,
    ru: `Кончаются адреса ${of('country')} вида ${of('ipv')}: свободно ${of('free')} из ${of('total')}.`,
  }),
  'node.lost': (of) => ({
    en: `The node ${of('name')} (${of('kind')}) does not report.`,
    ru: `Узел ${of('name')} (${of('kind')}) не сообщает о себе.`,
  }),
  'range.lost': (of) => ({
    en: `No gateway has the range ${of('range')}, and they report: ${of('problem')}.`,
    ru: `Диапазона ${of('range')} нет ни у одного шлюза, хотя шлюзы на связи: ${of('problem')}.`,
  }),
  'payment.unmatched': (of) => ({
    en: `A notice of ${of('provider')} matches no payment: ${of('notice_id')}.`,
    ru: `Уведомление ${of('provider')} не подходит ни к одному платежу: ${of('notice_id')}.`,
  }),
  'verify.finding': (of) => ({
    en: `The verification found problems of "${of('promise')}": ${of('count')}.`,
    ru: `Сверка нашла проблемы «${of('promise')}»: ${of('count')}.`,
  }),
  'certificate.ending': (of) => ({
    en: `The certificate of the shop ends at ${of('ends_at')}.`,
    ru: `Сертификат магазина кончается ${of('ends_at')}.`,
  }),
  'webhook.disabled': (of) => ({
    en: `The endpoint ${of('url')} is disabled after failed attempts.`,
    ru: `Адрес ${of('url')} выключен после неудачных попыток.`,
  }),
}

const test: Sentences = { en: 'This is a test of your alerts.', ru: 'Это проверка уведомлений.' }

/** Facts of alerts are plain; only events of customers have metadata. */
const toText = (fact: EventData[string] | undefined): string =>
  typeof fact === 'object' && fact ? JSON.stringify(fact) : String(fact ?? '')

/** The letter about an event of the operators, in Russian and English, from the body of its message. */
export function toAlertLetter(body: string): { readonly subject: string; readonly text: string } {
  const message: unknown = JSON.parse(body)
  const { type, timestamp } = toEventData(message)
  const name = toText(type)
  const data = toEventData(typeof message === 'object' && message && 'data' in message ? message.data : undefined)
  const { en, ru } = sentences[name]?.((fact) => toText(data[fact])) ?? test
  const isOver = data['state'] === 'ended'
  const [before, beforeRu] = isOver ? ['Over: ', 'Прошло: '] : ['', '']
  const facts = Object.entries(data).map(([fact, value]) => `${fact}: ${toText(value)}`)
  return {
    subject: `Turnpike: ${isOver ? 'over: ' : ''}${name}`,
    text: `${beforeRu}${ru}\n${before}${en}\n\n${[`time: ${toText(timestamp)}`, ...facts].join('\n')}\n`,
  }
}
