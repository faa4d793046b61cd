import { createMoment, createRub } from '../../core/messages/numbers.ts'
import type { CustomerEvent, EventData, EventType } from '../events/rules.ts'
import type { NoticeLanguage } from './rules.ts'

type Say = (of: {
  readonly text: (name: string) => string
  readonly money: (name: string) => string
  readonly when: (name: string) => string
  readonly data: EventData
}) => string

const products: Readonly<Record<NoticeLanguage, Readonly<Record<string, string>>>> = {
  en: { dedicated: 'dedicated proxies', premium: 'premium traffic', vpn: 'VPN' },
  ru: { dedicated: 'выделенные прокси', premium: 'премиум-трафик', vpn: 'VPN' },
}
const actions: Readonly<Record<string, string>> = {
  buy: 'покупка',
  prolong: 'продление',
  renew: 'продление',
  increase: 'увеличение',
}

/** A plain value as text; metadata is none. */
function textIn(data: EventData, name: string): string {
  const value = data[name]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

const productIn = (language: NoticeLanguage, data: EventData): string =>
  products[language][textIn(data, 'product')] ?? textIn(data, 'product')

const english: Partial<Readonly<Record<EventType, Say>>> = {
  'proxy.expiring': ({ text, when, data }) =>
    `Proxy ${text('proxy_id')} (${text('ip')}) ends on ${when('expires_at')}. ` +
    `Automatic renewal is ${data['renews'] === true ? 'on' : 'off'}.`,
  'proxy.expired': ({ text, when }) =>
    `Proxy ${text('proxy_id')} (${text('ip')}) ended on ${when('expires_at')}. You can prolong it for 3 days.`,
  'vpn.expiring': ({ text, when, data }) =>
    `VPN subscription ${text('uuid')} ends on ${when('expires_at')}. ` +
    `Automatic renewal is ${data['renews'] === true ? 'on' : 'off'}.`,
  'vpn.expired': ({ text, when }) => `VPN subscription ${text('uuid')} ended on ${when('expires_at')}.`,
  'renewal.failed': ({ text, data }) =>
    `Automatic renewal of ${data['uuid'] === undefined ? `proxy ${text('proxy_id')}` : `VPN ${text('uuid')}`} ` +
    `was refused: ${text('reason')}.`,
  'balance.low': ({ money }) => `Your balance is ${money('balance_rub')} RUB, below ${money('threshold_rub')} RUB.`,
  'traffic.low': ({ text, data }) =>
    `${text('percent')} % of ${productIn('en', data)} are used. ${text('left_gb')} GB are left.`,
  'order.created': ({ text, money, data }) =>
    `Order: ${productIn('en', data)}, ${text('action')}, ${money('price_rub')} RUB.`,
  'order.refunded': ({ money }) => `Refund of an order: ${money('amount_rub')} RUB.`,
  'payment.paid': ({ text, money }) => `Payment ${text('payment_id')}: ${money('amount_rub')} RUB received.`,
  'payment.refunded': ({ text, money }) => `Payment ${text('payment_id')}: ${money('amount_rub')} RUB refunded.`,
  'price.announced': ({ text, when, data }) =>
    `On ${when('effective_at')}: ${data['text_en'] === null ? text('text_ru') : text('text_en')}`,
}

const russian: typeof english = {
  'proxy.expiring': ({ text, when, data }) =>
    `Прокси ${text('proxy_id')} (${text('ip')}) закончится ${when('expires_at')}. ` +
    `Автопродление ${data['renews'] === true ? 'включено' : 'выключено'}.`,
  'proxy.expired': ({ text, when }) =>
    `Прокси ${text('proxy_id')} (${text('ip')}) закончился ${when('expires_at')}. Его можно продлить ещё 3 дня.`,
  'vpn.expiring': ({ text, when, data }) =>
    `Подписка VPN ${text('uuid')} закончится ${when('expires_at')}. ` +
    `Автопродление ${data['renews'] === true ? 'включено' : 'выключено'}.`,
  'vpn.expired': ({ text, when }) => `Подписка VPN ${text('uuid')} закончилась ${when('expires_at')}.`,
  'renewal.failed': ({ text, data }) =>
    `Автопродление ${data['uuid'] === undefined ? `прокси ${text('proxy_id')}` : `VPN ${text('uuid')}`} ` +
    `отклонено: ${text('reason')}.`,
  'balance.low': ({ money }) => `Баланс ${money('balance_rub')} ₽, это ниже ${money('threshold_rub')} ₽.`,
  'traffic.low': ({ text, data }) =>
    `Израсходовано ${text('percent')} %: ${productIn('ru', data)}. Осталось ${text('left_gb')} ГБ.`,
  'order.created': ({ text, money, data }) =>
    `Заказ: ${productIn('ru', data)}, ${actions[text('action')] ?? text('action')}, ${money('price_rub')} ₽.`,
  'order.refunded': ({ money }) => `Возврат за заказ: ${money('amount_rub')} ₽.`,
  'payment.paid': ({ text, money }) => `Платёж ${text('payment_id')}: получено ${money('amount_rub')} ₽.`,
  'payment.refunded': ({ text, money }) => `Платёж ${text('payment_id')}: возвращено ${money('amount_rub')} ₽.`,
  'price.announced': ({ text, when, data }) =>
    `С ${when('effective_at')}: ${data['text_ru'] === null ? text('text_en') : text('text_ru')}`,
}

const rub = { en: createRub('en'), ru: createRub('ru') }
const moment = { en: createMoment('en'), ru: createMoment('ru') }

/** The sentence of a letter about an event; undefined of an event that no letter is about. */
export function lineOf(
  { type, data }: Pick<CustomerEvent, 'type' | 'data'>,
  language: NoticeLanguage,
): string | undefined {
  const text = (name: string): string => textIn(data, name)
  return { en: english, ru: russian }[language][type]?.({
    text,
    data,
    money: (name) => rub[language](Number(data[name] ?? 0)),
    when: (name) => moment[language](text(name)),
  })
}

export const writeRub = (roubles: number, language: NoticeLanguage): string => rub[language](roubles)

export const writeMore = (count: number, language: NoticeLanguage): string =>
  language === 'en' ? `And ${count} more: see the list of events.` : `И ещё ${count}: смотрите список событий.`
