import type { Format } from './format.ts'
import type { Words } from './language.tsx'

type Data = Readonly<Record<string, unknown>>

/** What happened, as somebody would tell it. */
type Told = {
  readonly types: Readonly<Record<string, string>>
  readonly reasons: Readonly<Record<string, string>>
  readonly proxy: (id: string) => string
  readonly since: (moment: string) => string
  readonly until: (moment: string) => string
  readonly balance: (money: string) => string
}

const en: Told = {
  types: {
    'proxy.replaced': 'Another address',
    'proxy.interrupted': 'Interrupted',
    'proxy.restored': 'Works again',
    'proxy.moved': 'Another gateway',
    'proxy.extended': 'Term extended',
    'proxy.ended': 'Ended early',
    'order.refunded': 'Money given back',
    'payment.paid': 'Payment received',
    'payment.expired': 'Payment expired',
    'payment.refunded': 'Payment taken back',
  },
  reasons: { outage: 'outage', quarantine: 'quarantine' },
  proxy: (id) => `Proxy ${id}`,
  since: (moment) => `since ${moment}`,
  until: (moment) => `until ${moment}`,
  balance: (money) => `balance ${money}`,
}
const ru: Told = {
  types: {
    'proxy.replaced': 'Другой адрес',
    'proxy.interrupted': 'Прервано',
    'proxy.restored': 'Снова работает',
    'proxy.moved': 'Другой шлюз',
    'proxy.extended': 'Срок продлён',
    'proxy.ended': 'Закончено досрочно',
    'order.refunded': 'Деньги возвращены',
    'payment.paid': 'Платёж получен',
    'payment.expired': 'Платёж истёк',
    'payment.refunded': 'Платёж отозван',
  },
  reasons: { outage: 'сбой', quarantine: 'карантин' },
  proxy: (id) => `Прокси ${id}`,
  since: (moment) => `с ${moment}`,
  until: (moment) => `до ${moment}`,
  balance: (money) => `баланс ${money}`,
}
export const eventWords: Words<Told> = { en, ru }

/** What an event carries, in the order in which one would ask. Fields that are not known are passed over. */
export function tellEvent(data: Data, words: Told, format: Format): string {
  const text = (name: string): string | undefined => {
    const value = data[name]
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
  }
  const when = (name: string, say: (moment: string) => string) => {
    const value = text(name)
    return value === undefined ? undefined : say(format.moment(value))
  }
  const money = (name: string) => (typeof data[name] === 'number' ? format.exactMoney(data[name]) : undefined)
  const reason = text('reason')
  const balance = money('balance_rub')
  const parts = [
    text('proxy_id') === undefined ? undefined : words.proxy(text('proxy_id') ?? ''),
    text('to_ip') === undefined ? text('ip') : `${text('from_ip')} → ${text('to_ip')}`,
    money('amount_rub'),
    when('since', words.since),
    when('until', words.until),
    when('expires_at', words.until),
    balance === undefined ? undefined : words.balance(balance),
    reason === undefined ? undefined : (words.reasons[reason] ?? reason),
  ]
  return parts.filter((each) => each !== undefined && each !== '').join(', ')
}
