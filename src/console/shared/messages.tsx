import { createContext, type ReactNode, useContext, useLayoutEffect, useMemo, useState } from 'react'

export type Language = 'en' | 'ru'

const units: Readonly<Record<Language, readonly string[]>> = {
  en: ['B', 'kB', 'MB', 'GB', 'TB'],
  ru: ['Б', 'КБ', 'МБ', 'ГБ', 'ТБ'],
}

const dayMs = 86_400_000
const hourMs = 3_600_000
const minuteMs = 60_000

/** Days until a term ends, rounded up on every page: 30 right after a purchase for 30 days. */
export const daysLeft = (ms: number): number => Math.ceil(ms / dayMs)

/** A duration in its largest unit that is at least 1, else in minutes. Days ahead are rounded up, the rest down. */
function apart(ms: number): readonly [count: number, unit: 'day' | 'hour' | 'minute'] {
  const size = Math.abs(ms)
  if (size >= dayMs) return [ms > 0 ? daysLeft(ms) : Math.trunc(ms / dayMs), 'day']
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
  const share = new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 2 })
  const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' })
  const moment = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' })
  const day = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short' })
  const dayOfYear = new Intl.DateTimeFormat(language, { dateStyle: 'medium' })
  const places = new Intl.DisplayNames(language, { type: 'region' })
  const plural = new Intl.PluralRules(language)
  return {
    language,
    money: (roubles: number): string => (Number.isInteger(roubles) ? whole : exact).format(roubles).replace('-', '−'),
    exactMoney: (roubles: number): string => exact.format(roubles).replace('-', '−'),
    number: (value: number): string => number.format(value),
    percent: (value: number): string => share.format(value / 100),
    moment: (iso: string): string => moment.format(new Date(iso)).replace(/\s*г\./, ''),
    /** With the year if it is not the current one. */
    day: (iso: string, nowAt: number = Date.now()): string => {
      const date = new Date(iso)
      const isThisYear = date.getFullYear() === new Date(nowAt).getFullYear()
      return (isThisYear ? day : dayOfYear).format(date).replace(/\s*г\.$/, '')
    },
    away: (iso: string, nowMs: number): string => relative.format(...apart(Date.parse(iso) - nowMs)),
    // The browser writes «Соединенные» without ё.
    country: (code: string): string => (places.of(code) ?? code).replace('Соединенные', 'Соединённые'),
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

class Pair<Of> {
  constructor(
    readonly en: Of,
    readonly ru: Of,
  ) {}
}

export const pair = <Of,>(en: Of, ru: Of): Pair<Of> => new Pair(en, ru)

/** One value for each `{name}` of a text. */
type Values<Text extends string> = Text extends `${string}{${string}}${infer Rest}` ? [string, ...Values<Rest>] : []

/** A text with `{name}`s. Values are passed in the order of the English text. */
export function phrase<Text extends string>(en: Text, ru: string): Pair<(...values: Values<Text>) => string> {
  const order = [...en.matchAll(/\{(\w+)\}/g)].map((found) => found[1])
  const fill =
    (text: string) =>
    (...values: readonly string[]) =>
      text.replace(/\{(\w+)\}/g, (_, name: string) => values[order.indexOf(name)] ?? '')
  return pair(fill(en), fill(ru))
}

/** Texts by names that the API sends; it may send one that is not listed. */
export const names = (of: Readonly<Record<string, Pair<string> | string>>) => of

type In<Of> =
  Of extends Pair<infer Text>
    ? Text
    : Of extends object
      ? { readonly [Name in keyof Of]: Of[Name] extends (...values: never) => unknown ? Of[Name] : In<Of[Name]> }
      : Of

/** The same texts in each language: a missing translation does not compile. */
type Messages<Of> = Readonly<Record<Language, Of>>

function pick(of: unknown, language: Language): unknown {
  if (of instanceof Pair) return of[language]
  if (typeof of !== 'object' || of === null || Array.isArray(of)) return of
  return Object.fromEntries(Object.entries(of).map(([name, each]) => [name, pick(each, language)]))
}

/** Picks each language's half of every pair. */
export const translated = <Of extends object>(of: Of): Messages<In<Of>> => ({
  en: pick(of, 'en') as In<Of>,
  ru: pick(of, 'ru') as In<Of>,
})

const common = {
  days: pair(
    (count: number, format: Format) => format.plural(count, 'day', 'days'),
    (count, format) => format.plural(count, 'день', 'дня', 'дней'),
  ),
  copy: pair('Copy', 'Копировать'),
  copied: pair('Copied', 'Скопировано'),
  again: pair('Try again', 'Повторить'),
  more: pair('Show more', 'Показать ещё'),
  sortsWhole: pair(
    'Newest first. Columns can be sorted once all rows are shown; the file has all of them.',
    'Сначала новые. Столбцы сортируются, когда показаны все строки; в файле они есть все.',
  ),
  andMore: phrase('and {count} more', 'и ещё {count}'),
  loading: pair('Loading', 'Загрузка'),
  menu: pair('Menu', 'Меню'),
  signOut: pair('Sign out', 'Выйти'),
  toDark: pair('Switch to dark', 'Тёмная тема'),
  toLight: pair('Switch to light', 'Светлая тема'),
  language: pair('Language', 'Язык'),
  skip: pair('Skip to the content', 'К содержимому'),
  notFound: pair('Page not found', 'Страница не найдена'),
  notFoundAbout: pair('The page may have been removed.', 'Возможно, страница удалена.'),
  toStart: pair('Go to the start page', 'На главную'),
  charged: pair('Money was charged.', 'Деньги списаны.'),
  notCharged: pair('No money was charged.', 'Деньги не списаны.'),
  lost: pair('The shop did not answer', 'Магазин не ответил'),
  lostAbout: pair(
    'The request may or may not have been processed. Repeat it: a processed request returns the same answer and ' +
      'is charged once.',
    'Неизвестно, выполнен ли запрос. Повторите его: выполненный запрос вернёт тот же ответ, деньги спишутся один раз.',
  ),
  noConnection: pair('No connection', 'Нет соединения'),
  notSent: pair(
    'Nothing was sent. Try again when the connection is back.',
    'Ничего не отправлено. Повторите, когда соединение появится.',
  ),
  notBought: pair(
    'Nothing was bought and no money was charged. Try again when the connection is back.',
    'Ничего не куплено, деньги не списаны. Повторите, когда соединение появится.',
  ),
  fault: pair('Server error', 'Ошибка сервера'),
  request: pair('Request', 'Запрос'),
  failed: pair('This page has crashed', 'Ошибка на странице'),
  failedAbout: pair('Your data is safe. Reload the page.', 'Данные не пострадали. Обновите страницу.'),
  reload: pair('Reload', 'Обновить'),
  order: pair('Order', 'Заказ'),
  product: pair('Product', 'Товар'),
  when: pair('When', 'Когда'),
  price: pair('Price', 'Цена'),
  close: pair('Close', 'Закрыть'),
  role: pair('Role', 'Роль'),
  roles: names({
    owner: pair('Owner', 'Владелец'),
    support: pair('Support', 'Поддержка'),
    reader: pair('Reader', 'Читатель'),
  }),
  login: pair('Login', 'Логин'),
  password: pair('Password', 'Пароль'),
  newPassword: pair('New password', 'Новый пароль'),
  showPassword: pair('Show the password', 'Показать пароль'),
  setPassword: pair('Set the password', 'Задать пароль'),
  code: pair('Code', 'Код'),
  source: pair('From', 'Откуда'),
  used: pair('Last used', 'Использован'),
  sent: pair('Sent', 'Отправлено'),
  balance: pair('Balance', 'Баланс'),
  traffic: pair('Traffic', 'Трафик'),
  address: pair('Address', 'Адрес'),
  prolong: pair('Prolong', 'Продлить'),
  topUp: pair('Top up', 'Пополнить'),
  method: pair('Method', 'Способ'),
  what: pair('Description', 'Описание'),
  amount: pair('Amount', 'Сумма'),
  after: pair('Balance after', 'Баланс после'),
  orders: pair('Orders', 'Заказы'),
  toList: pair('Back to the list', 'К списку'),
  overview: pair('Overview', 'Обзор'),
  account: pair('Account', 'Учётная запись'),
  host: pair('Host', 'Хост'),
  buyFor: phrase('Buy for {price}', 'Купить за {price}'),
  until: pair('Until', 'До'),
  online: pair('Online', 'На связи'),
  offline: pair('Offline', 'Не на связи'),
  autoRenew: pair('Auto-renew', 'Автопродление'),
  devices: pair('Devices', 'Устройства'),
  name: pair('Name', 'Имя'),
  never: pair('Never', 'Никогда'),
  received: pair('Received', 'Получено'),
  remove: pair('Remove', 'Удалить'),
  hidden: pair('Hidden: no right to see passwords', 'Скрыто: нет права на просмотр паролей'),
  newLink: pair('New link', 'Новая ссылка'),
  pool: pair('Pool', 'Пул'),
  from: pair('From', 'С'),
  total: pair('To pay', 'К оплате'),
  tooPoor: pair('Not enough money on the balance.', 'Недостаточно средств на балансе.'),
  country: pair('Country', 'Страна'),
  anyCountry: pair('Any', 'Любая'),
  city: pair('City', 'Город'),
  kind: pair('Type', 'Тип'),
  protocol: pair('Protocol', 'Протокол'),
  format: pair('Format', 'Формат'),
  download: pair('Download', 'Скачать'),
  whitelist: pair('Whitelist (no password needed)', 'Белый список (без пароля)'),
  comment: pair('Comment', 'Комментарий'),
  use: pair('How to connect', 'Как подключиться'),
  status: pair('Status', 'Состояние'),
  active: pair('Active', 'Активен'),
  blocked: pair('Blocked', 'Заблокирован'),
  block: pair('Block', 'Заблокировать'),
  unblock: pair('Unblock', 'Разблокировать'),
  search: pair('Search', 'Поиск'),
  any: pair('Any', 'Любое'),
  replace: pair('Replace the address', 'Заменить адрес'),
  refunded: pair('Refunded', 'Возвращено'),
  payment: pair('Payment', 'Платёж'),
  act: pair('Action', 'Действие'),
  unmatched: pair('Unmatched notices', 'Неразобранные уведомления'),
  provider: pair('Provider', 'Платёжная система'),
  day: pair('Day', 'День'),
  csv: 'CSV',
  goTo: pair('Go to…', 'Перейти…'),
  choose: pair('Choose a service', 'Выбрать услугу'),
  between: phrase('A number from {min} to {max}.', 'Число от {min} до {max}.'),
}

export const messages = <Of extends object>(own: Of): Messages<In<Omit<typeof common, keyof Of> & Of>> =>
  translated({ ...common, ...own })

export const commonMessages = messages({})

const storageKey = 'turnpike.language'

/** The chosen language, or the first of the browser's that is known. */
function firstLanguage(): Language {
  const chosen = localStorage.getItem(storageKey)
  if (chosen === 'en' || chosen === 'ru') return chosen
  const known = navigator.languages.map((each) => each.slice(0, 2)).find((each) => each === 'en' || each === 'ru')
  return known === 'ru' ? 'ru' : 'en'
}

type Spoken = { readonly language: Language; readonly format: Format; readonly choose: (language: Language) => void }

const Context = createContext<Spoken>({ language: 'en', format: createFormat('en'), choose: () => {} })

export function LanguageProvider({ children }: { readonly children: ReactNode }) {
  const [language, setLanguage] = useState(firstLanguage)
  useLayoutEffect(() => {
    document.documentElement.lang = language
  }, [language])
  const spoken = useMemo(() => {
    const choose = (next: Language) => {
      localStorage.setItem(storageKey, next)
      setLanguage(next)
    }
    return { language, format: createFormat(language), choose }
  }, [language])
  return <Context value={spoken}>{children}</Context>
}

export const useLanguage = (): Spoken => useContext(Context)

/** A page's texts in the reader's language, and how that language writes numbers, money and times. */
export function useMessages<Of>(of: Messages<Of>): Spoken & { readonly t: Of } {
  const spoken = useLanguage()
  return { ...spoken, t: of[spoken.language] }
}
