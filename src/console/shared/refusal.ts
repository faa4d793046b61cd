import { type CallRefused, isRecord } from '../client/call.ts'

type Problem = { readonly field: string; readonly problem: string }

/** The Russian name of each field on pages. A field that is on no page keeps its own name. */
const fields: Readonly<Record<string, string>> = {
  address: 'Адрес',
  amount_rub: 'Сумма',
  body: 'Запрос',
  cap_rub: 'Лимит расходов',
  cities: 'Город',
  code: 'Код',
  comment: 'Комментарий',
  count: 'Сколько',
  countries: 'Страна',
  country: 'Страна',
  country_code: 'Страна',
  current_password: 'Текущий пароль',
  day: 'День',
  email: 'Эл. почта',
  expires_at: 'Действует до',
  format: 'Формат',
  from: 'Начало',
  gb: 'Гигабайты',
  ids: 'Прокси',
  ip: 'Адрес',
  ipv: 'Тип',
  link: 'Ссылка',
  local: 'Свой адрес',
  location: 'Расположение',
  login: 'Логин',
  method: 'Способ',
  name: 'Имя',
  node: 'Узел',
  nodes: 'Узлы',
  note: 'Заметка',
  password: 'Пароль',
  period: 'Срок',
  pool: 'Пул',
  pool_type: 'Пул',
  port_type: 'Протокол',
  prefix: 'Диапазон',
  quantity: 'Сколько строк',
  role: 'Роль',
  scopes: 'Права',
  session_ttl: 'Длительность сеанса',
  subuser_id: 'Субпользователь',
  supplied_bytes: 'По данным поставщика',
  to: 'Конец',
  to_subuser_id: 'Кому',
  upstream: 'Вышестоящий прокси',
  username: 'Логин',
}

/** The faulty fields of a refusal, all at once; none for a refusal of another kind. */
export const problemsOf = ({ details }: CallRefused): readonly Problem[] =>
  Array.isArray(details) && details.every(isProblem) ? details : []

const isProblem = (value: unknown): value is Problem =>
  isRecord(value) && typeof value['field'] === 'string' && typeof value['problem'] === 'string'

const sayProblem = ({ field, problem }: Problem): string => `${fields[field.split('.')[0] ?? ''] ?? field}: ${problem}.`

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

/** The shop's own sentence. In Russian each faulty field has the name that it has on pages. */
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
  return language === 'ru' && problems.length > 0 ? problems.map(sayProblem).join(' ') : message
}
