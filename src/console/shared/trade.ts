import { type Format, names, pair, phrase, translated } from './messages.tsx'

/** Products, movements of money, and the fields and values of orders, by their names in the API. */
export const tradeMessages = translated({
  kinds: names({
    credit: pair('Credit', 'Пополнение'),
    charge: pair('Charge', 'Списание'),
    refund: pair('Refund', 'Возврат'),
    debit: pair('Debit', 'Удержание'),
  }),
  products: names({
    dedicated: pair('Dedicated proxies', 'Выделенные прокси'),
    traffic: pair('Premium traffic', 'Премиум-трафик'),
    premium: pair('Premium traffic', 'Премиум-трафик'),
    vpn: 'VPN',
  }),
  actions: names({
    buy: pair('purchase', 'покупка'),
    prolong: pair('prolongation', 'продление'),
    renew: pair('renewal', 'продление'),
    move: pair('move', 'перенос'),
    delete: pair('deletion', 'удаление'),
    replace: pair('replacement', 'замена'),
    increase: pair('more devices', 'больше устройств'),
  }),
  fields: names({
    country_code: pair('Country', 'Страна'),
    country: pair('Country', 'Страна'),
    period: pair('Term', 'Срок'),
    count: pair('Quantity', 'Количество'),
    ipv: pair('Type', 'Тип'),
    full_price_rub: pair('Price before the discount', 'Цена без скидки'),
    discount_percent: pair('Discount', 'Скидка'),
    price_rub: pair('Price', 'Цена'),
    expires_at: pair('Until', 'До'),
    started_at: pair('From', 'С'),
    ended_at: pair('Ended', 'Завершён'),
    pool_type: pair('Pool', 'Пул'),
    pool: pair('Pool', 'Пул'),
    gb: pair('Gigabytes', 'Гигабайты'),
    months: pair('Months', 'Месяцев'),
    name: pair('Name', 'Имя'),
    proxy: pair('Proxy', 'Прокси'),
    address: pair('Address', 'Адрес'),
    username: pair('Login', 'Логин'),
    status: pair('Status', 'Состояние'),
    rx_bytes: pair('Received', 'Получено'),
    tx_bytes: pair('Sent', 'Отправлено'),
    ids: pair('Proxies', 'Прокси'),
    proxies: pair('Proxies', 'Прокси'),
    lines: pair('Positions', 'Позиции'),
    uuid: pair('Subscription', 'Подписка'),
    per_gigabyte: pair('Price per GB', 'Цена за ГБ'),
    price_per_gb_rub: pair('Price per GB', 'Цена за ГБ'),
    per_month_rub: pair('Price per month', 'Цена за месяц'),
    price_per_proxy_rub: pair('Price per proxy', 'Цена за прокси'),
    per_proxy_rub: pair('Price per proxy', 'Цена за прокси'),
    subuser_id: pair('Sub-user', 'Субпользователь'),
    subuser: pair('Sub-user', 'Субпользователь'),
    from_subuser_id: pair('From the sub-user', 'От субпользователя'),
    to_subuser_id: pair('To the sub-user', 'К субпользователю'),
    bought_gb: pair('Bought', 'Куплено'),
    left_gb: pair('Left', 'Осталось'),
    moved_gb: pair('Moved', 'Перенесено'),
    bytes: pair('Traffic', 'Трафик'),
    auto_renew: pair('Auto-renew', 'Автопродление'),
    location: pair('Location', 'Расположение'),
    catalogue: pair('Price list version', 'Версия прайс-листа'),
    slots: pair('Device slots', 'Места для устройств'),
    slots_price_rub: pair('Price of device slots', 'Цена мест для устройств'),
    port_type: pair('Protocol', 'Протокол'),
    public_key: pair('Public key', 'Открытый ключ'),
    metadata: pair('Metadata', 'Метаданные'),
    free: pair('Free', 'Свободно'),
    total: pair('In total', 'Всего'),
    kind: pair('Kind', 'Вид'),
    last_seen_at: pair('Last report', 'Последний отчёт'),
    range: pair('Range', 'Диапазон'),
    problem: pair('Problem', 'Проблема'),
    notice_id: pair('Message', 'Сообщение'),
    provider: pair('Provider', 'Платёжная система'),
    reason: pair('Reason', 'Причина'),
    part: pair('Part', 'Часть'),
    ends_at: pair('Ends', 'Кончается'),
  }),
  pools: names({
    residential: pair('Residential', 'Резидентные'),
    residential_premium: pair('Residential premium', 'Резидентные премиум'),
    datacenter: pair('Datacenter', 'Датацентр'),
    mobile: pair('Mobile', 'Мобильные'),
  }),
  ipvs: names({
    3: pair('IPv4 shared', 'IPv4 общий'),
    4: pair('IPv4 private', 'IPv4 выделенный'),
    6: pair('IPv6 private', 'IPv6 выделенный'),
  }),
  states: names({
    active: pair('Active', 'Активен'),
    expired: pair('Expired', 'Истёк'),
    gone: pair('Ended', 'Завершён'),
  }),
})
export type Trade = (typeof tradeMessages)['en']

/** An order's product and action; a code without a text is shown as it is. */
export const orderName = (
  { product, action }: { readonly product: string; readonly action: string },
  { products, actions }: Pick<Trade, 'products' | 'actions'>,
): string => `${products[product] ?? product} · ${actions[action] ?? action}`

/** Ways to pay by their names in the API; one without a text is shown by the shop's name. */
export const methodNames = translated(
  names({
    sandbox: pair('Sandbox', 'Песочница'),
    card: pair('Card', 'Банковская карта'),
    sbp: pair('SBP', 'СБП'),
    platega_card: pair('Card', 'Банковская карта'),
    platega_sbp: pair('SBP', 'СБП'),
    platega_crypto: pair('Cryptocurrency', 'Криптовалюта'),
    crypto: pair('Cryptocurrency', 'Криптовалюта'),
    transfer: pair('Bank transfer', 'Банковский перевод'),
    cash: pair('Cash', 'Наличные'),
  }),
)

/** VPN protocols by their names in the API, as apps name them. */
export const protocolNames: Readonly<Record<string, string>> = {
  wireguard: 'WireGuard',
  vless: 'VLESS',
  xhttp: 'VLESS (XHTTP)',
  websocket: 'VLESS (WebSocket)',
  trojan: 'Trojan',
  http: 'HTTPS',
  naive: 'NaïveProxy',
  trusttunnel: 'TrustTunnel',
}

export const eventMessages = translated({
  types: names({
    'order.created': pair('Order placed', 'Оформлен заказ'),
    'proxy.expiring': pair('Proxy ends soon', 'Прокси скоро закончится'),
    'proxy.expired': pair('Proxy expired', 'Срок прокси закончился'),
    'proxy.renewed': pair('Proxy prolonged', 'Прокси продлён'),
    'proxy.replaced': pair('Proxy address replaced', 'Адрес прокси заменён'),
    'proxy.interrupted': pair('Proxy interrupted', 'Работа прокси прервана'),
    'proxy.restored': pair('Proxy restored', 'Работа прокси восстановлена'),
    'proxy.moved': pair('Proxy moved to another gateway or host', 'Прокси перенесён на другой шлюз или хост'),
    'proxy.extended': pair('Proxy term extended', 'Срок прокси продлён'),
    'proxy.ended': pair('Proxy ended early', 'Прокси прекращён досрочно'),
    'traffic.low': pair('Little traffic left', 'Трафик заканчивается'),
    'vpn.expiring': pair('VPN ends soon', 'VPN скоро закончится'),
    'vpn.expired': pair('VPN expired', 'Срок VPN закончился'),
    'vpn.renewed': pair('VPN renewed', 'VPN продлён'),
    'device.seen': pair('VPN device connected for the first time', 'Устройство VPN подключилось впервые'),
    'renewal.failed': pair('Automatic renewal refused', 'Автопродление отклонено'),
    'balance.low': pair('Low balance', 'Низкий баланс'),
    'price.announced': pair('Prices will change', 'Цены изменятся'),
    'order.refunded': pair('Order refunded', 'Возврат за заказ'),
    'payment.paid': pair('Payment received', 'Платёж получен'),
    'payment.expired': pair('Payment expired', 'Платёж истёк'),
    'payment.refunded': pair('Payment refunded', 'Платёж возвращён'),
    'password.set': pair('Password set', 'Пароль задан'),
    'password.changed': pair('Password changed', 'Пароль изменён'),
    'email.set': pair('E-mail address set', 'Адрес почты задан'),
    'second_factor.set': pair('Second factor enabled', 'Второй фактор включён'),
    'second_factor.removed': pair('Second factor disabled', 'Второй фактор отключён'),
    'recovery_codes.made': pair('Recovery codes created', 'Созданы коды восстановления'),
    'recovery_code.used': pair('Sign-in with a recovery code', 'Вход с кодом восстановления'),
    'webhook.disabled': pair('Webhook endpoint disabled', 'Адрес вебхуков выключен'),
  }),
  reasons: names({ outage: pair('outage', 'сбой'), quarantine: pair('quarantine', 'карантин') }),
  by: names({
    link: pair('with an e-mailed link', 'по ссылке из письма'),
    operator: pair('by the seller', 'продавцом'),
  }),
  proxy: phrase('Proxy {id}', 'Прокси {id}'),
  since: phrase('since {moment}', 'с {moment}'),
  until: phrase('until {moment}', 'до {moment}'),
  balance: phrase('balance {money}', 'баланс {money}'),
  codesLeft: phrase('codes left: {count}', 'осталось кодов: {count}'),
})
type EventTexts = (typeof eventMessages)['en']

export function tellEvent(data: Readonly<Record<string, unknown>>, t: EventTexts, format: Format): string {
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
  const by = text('by')
  const parts = [
    text('proxy_id') === undefined ? undefined : t.proxy(text('proxy_id') ?? ''),
    text('to_ip') === undefined ? text('ip') : `${text('from_ip')} → ${text('to_ip')}`,
    money('amount_rub'),
    when('since', t.since),
    when('until', t.until),
    when('expires_at', t.until),
    balance === undefined ? undefined : t.balance(balance),
    text('left') === undefined ? undefined : t.codesLeft(text('left') ?? ''),
    by === undefined ? undefined : t.by[by],
    reason === undefined ? undefined : (t.reasons[reason] ?? reason),
  ]
  return parts.filter((each) => each !== undefined && each !== '').join(', ')
}
