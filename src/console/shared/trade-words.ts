import type { Words } from './language.tsx'

type Names = Readonly<Record<string, string>>

/** What is sold, what moves money, and what an order is made of, by the names that they have in the API. */
export type Trade = {
  readonly kinds: Names
  readonly products: Names
  readonly actions: Names
  readonly fields: Names
  readonly pools: Names
  readonly ipvs: Names
  readonly states: Names
}

const en: Trade = {
  kinds: { credit: 'Credit', charge: 'Charge', refund: 'Refund', debit: 'Debit' },
  products: { dedicated: 'Dedicated proxies', traffic: 'Premium traffic', premium: 'Premium traffic', vpn: 'VPN' },
  actions: {
    buy: 'purchase',
    prolong: 'prolonging',
    renew: 'renewal',
    move: 'move',
    delete: 'deletion',
    replace: 'replacement',
  },
  fields: {
    country_code: 'Country',
    country: 'Country',
    period: 'Term',
    count: 'How many',
    ipv: 'Kind',
    catalogue: 'Version of the price list',
    kopecks: 'Price',
    discount_percent: 'Discount, %',
    expires_at: 'Until',
    started_at: 'From',
    ended_at: 'Ended',
    pool_type: 'Pool',
    pool: 'Pool',
    gb: 'Gigabytes',
    months: 'Months',
    name: 'Name',
    proxy: 'Proxy',
    address: 'Address',
    status: 'Status',
    rx_bytes: 'Received',
    tx_bytes: 'Sent',
    ids: 'Proxies',
    uuid: 'Subscription',
    per_gigabyte: 'Price per GB',
    price_per_gb_rub: 'Price per GB',
    per_month_rub: 'Price per month',
    price_per_proxy_rub: 'Price per proxy',
    per_proxy_rub: 'Price per proxy',
    subuser_id: 'Sub-user',
    subuser: 'Sub-user',
    from_subuser_id: 'From the sub-user',
    to_subuser_id: 'To the sub-user',
    bought_gb: 'Bought',
    left_gb: 'Left',
    moved_gb: 'Moved',
    bytes: 'Traffic',
    auto_renew: 'Renews itself',
    location: 'Location',
  },
  pools: {
    residential: 'Residential',
    residential_premium: 'Residential premium',
    datacenter: 'Datacenter',
    mobile: 'Mobile',
  },
  ipvs: { 3: 'IPv4 shared', 4: 'IPv4 private', 6: 'IPv6 private' },
  states: { active: 'Active', expired: 'Expired', gone: 'Gone' },
}

const ru: Trade = {
  kinds: { credit: 'Пополнение', charge: 'Списание', refund: 'Возврат', debit: 'Удержание' },
  products: { dedicated: 'Выделенные прокси', traffic: 'Премиум-трафик', premium: 'Премиум-трафик', vpn: 'VPN' },
  actions: {
    buy: 'покупка',
    prolong: 'продление',
    renew: 'продление',
    move: 'перенос',
    delete: 'удаление',
    replace: 'замена',
  },
  fields: {
    country_code: 'Страна',
    country: 'Страна',
    period: 'Срок',
    count: 'Сколько',
    ipv: 'Вид',
    catalogue: 'Версия цен',
    kopecks: 'Цена',
    discount_percent: 'Скидка, %',
    expires_at: 'До',
    started_at: 'С',
    ended_at: 'Закончен',
    pool_type: 'Пул',
    pool: 'Пул',
    gb: 'Гигабайты',
    months: 'Месяцев',
    name: 'Имя',
    proxy: 'Прокси',
    address: 'Адрес',
    status: 'Состояние',
    rx_bytes: 'Получено',
    tx_bytes: 'Отправлено',
    ids: 'Прокси',
    uuid: 'Подписка',
    per_gigabyte: 'Цена за ГБ',
    price_per_gb_rub: 'Цена за ГБ',
    per_month_rub: 'Цена за месяц',
    price_per_proxy_rub: 'Цена за прокси',
    per_proxy_rub: 'Цена за прокси',
    subuser_id: 'Субпользователь',
    subuser: 'Субпользователь',
    from_subuser_id: 'От субпользователя',
    to_subuser_id: 'К субпользователю',
    bought_gb: 'Куплено',
    left_gb: 'Осталось',
    moved_gb: 'Перенесено',
    bytes: 'Трафик',
    auto_renew: 'Автопродление',
    location: 'Место',
  },
  pools: {
    residential: 'Резидентные',
    residential_premium: 'Резидентные премиум',
    datacenter: 'Датацентр',
    mobile: 'Мобильные',
  },
  ipvs: { 3: 'IPv4 общий', 4: 'IPv4 личный', 6: 'IPv6 личный' },
  states: { active: 'Активен', expired: 'Истёк', gone: 'Закончен' },
}

export const tradeWords: Words<Trade> = { en, ru }

/** What an order was, in the reader's words where there are some. */
export const orderName = (
  { product, action }: { readonly product: string; readonly action: string },
  words: Pick<Trade, 'products' | 'actions'>,
): string => `${words.products[product] ?? product} · ${words.actions[action] ?? action}`
