import { type CallRefused, isRecord } from '../client/call.ts'

type Problem = { readonly field: string; readonly problem: string }

/** The name of each field on pages, in English and Russian. A field that is on no page keeps its own name. */
const fields: Readonly<Record<string, readonly [en: string, ru: string]>> = {
  address: ['Address', 'Адрес'],
  amount_rub: ['Amount', 'Сумма'],
  body: ['Request', 'Запрос'],
  cap_rub: ['Spending limit', 'Лимит расходов'],
  cities: ['City', 'Город'],
  code: ['Code', 'Код'],
  comment: ['Comment', 'Комментарий'],
  count: ['How many', 'Сколько'],
  countries: ['Country', 'Страна'],
  country: ['Country', 'Страна'],
  country_code: ['Country', 'Страна'],
  current_password: ['Current password', 'Текущий пароль'],
  day: ['Day', 'День'],
  email: ['E-mail address', 'Эл. почта'],
  expires_at: ['Valid until', 'Действует до'],
  format: ['Format', 'Формат'],
  from: ['From', 'Начало'],
  gb: ['Gigabytes', 'Гигабайты'],
  ids: ['Proxies', 'Прокси'],
  ip: ['Address', 'Адрес'],
  ipv: ['Type', 'Тип'],
  link: ['Link', 'Ссылка'],
  local: ['Own address', 'Свой адрес'],
  location: ['Location', 'Расположение'],
  login: ['Login', 'Логин'],
  method: ['Method', 'Способ'],
  name: ['Name', 'Имя'],
  node: ['Node', 'Узел'],
  nodes: ['Nodes', 'Узлы'],
  note: ['Note', 'Заметка'],
  password: ['Password', 'Пароль'],
  period: ['Term', 'Срок'],
  pool: ['Pool', 'Пул'],
  pool_type: ['Pool', 'Пул'],
  port_type: ['Protocol', 'Протокол'],
  prefix: ['Range', 'Диапазон'],
  quantity: ['How many lines', 'Сколько строк'],
  role: ['Role', 'Роль'],
  scopes: ['Rights', 'Права'],
  session_ttl: ['Session length', 'Длительность сеанса'],
  subuser_id: ['Sub-user', 'Субпользователь'],
  supplied_bytes: ["Supplier's figure", 'По данным поставщика'],
  to: ['To', 'Конец'],
  to_subuser_id: ['To', 'Кому'],
  upstream: ['Upstream proxy', 'Вышестоящий прокси'],
  username: ['Login', 'Логин'],
}

/** The faulty fields of a refusal, all at once; none for a refusal of another kind. */
export const problemsOf = ({ details }: CallRefused): readonly Problem[] =>
  Array.isArray(details) && details.every(isProblem) ? details : []

const isProblem = (value: unknown): value is Problem =>
  isRecord(value) && typeof value['field'] === 'string' && typeof value['problem'] === 'string'

const sayProblem =
  (language: 'en' | 'ru') =>
  ({ field, problem }: Problem): string => {
    const [en, ru] = fields[field.split('.')[0] ?? ''] ?? [field, field]
    return `${language === 'en' ? en : ru}: ${problem}.`
  }

/** The shop writes this time in UTC; the page writes it in the reader's time zone. */
const replacedRecently = {
  en: 'The address of this proxy was replaced recently. It can be replaced again on ',
  ru: 'Адрес этого прокси недавно меняли. Снова его можно заменить ',
}

/** The API's own sentence is for programs: it names a field to change. */
const priceChanged = {
  en: (price: string) =>
    `The price has changed: it is now ${price}. Nothing was charged. To buy at this price, press the button again.`,
  ru: (price: string) =>
    `Цена изменилась: теперь ${price}. Деньги не списаны. Чтобы купить по этой цене, нажмите кнопку ещё раз.`,
}

/** The shop's own sentence. Each faulty field has the name that it has on pages. */
export function sayRefusal(
  refusal: CallRefused,
  language: 'en' | 'ru',
  write: { readonly moment: (iso: string) => string; readonly money: (roubles: number) => string },
): string {
  const { message, details, changedPrice } = refusal
  if (changedPrice !== undefined) return priceChanged[language](write.money(changedPrice))
  const again = isRecord(details) ? details['again_at'] : undefined
  if (typeof again === 'string') return `${replacedRecently[language]}${write.moment(again)}.`
  const problems = problemsOf(refusal)
  return problems.length > 0 ? problems.map(sayProblem(language)).join(' ') : message
}
