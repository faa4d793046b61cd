import type { CallRefused } from '../../client/call.ts'
import type { Refusal } from '../../client/shapes.ts'
import { messages } from './messages-ru.ts'
import { problems } from './problems-ru.ts'
import { createTranslator, type Writing } from './translate.ts'

type Code = Refusal['error']['code']
type Problem = { readonly field: string; readonly problem: string }

/** What each code means, for a text of which only that is known. */
export const meanings: Readonly<Record<Code, string>> = {
  invalid_request: 'В запросе ошибка.',
  invalid_token: 'Войдите заново.',
  sign_in_failed: 'Логин, пароль или код неверны.',
  insufficient_funds: 'На балансе не хватает денег.',
  forbidden: 'На это нет прав.',
  not_found: 'Этого нет, или оно не ваше.',
  method_not_allowed: 'Так с этим поступить нельзя.',
  out_of_stock: 'Столько свободных нет.',
  request_in_progress: 'Этот же запрос ещё выполняется.',
  conflict: 'Сейчас это невозможно.',
  payload_too_large: 'Запрос слишком большой.',
  unsupported_media_type: 'Запрос не в том виде.',
  idempotency_key_reused: 'Этим ключом уже сделан другой запрос.',
  rate_limited: 'Слишком много запросов. Подождите и повторите.',
  internal_error: 'Что-то сломалось у нас.',
  provider_error: 'Сбой у поставщика.',
  unavailable: 'Сейчас это недоступно. Повторите позже.',
}

/** Fields by the names that they have on pages; one that is on no page keeps its own. */
const fields: Readonly<Record<string, string>> = {
  address: 'Адрес',
  amount_rub: 'Сумма',
  body: 'Запрос',
  cap_rub: 'Предел трат',
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
  ipv: 'Вид',
  link: 'Ссылка',
  local: 'Свой адрес',
  location: 'Место',
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
  session_ttl: 'Минут в сеансе',
  subuser_id: 'Субпользователь',
  supplied_bytes: 'По счёту поставщика',
  to: 'Конец',
  to_subuser_id: 'Кому',
  upstream: 'Вышестоящий прокси',
  username: 'Логин',
}

const translateMessage = createTranslator(messages)
const translateProblem = createTranslator(problems)

const isProblem = (value: unknown): value is Problem =>
  typeof value === 'object' &&
  value !== null &&
  'field' in value &&
  'problem' in value &&
  typeof value.field === 'string' &&
  typeof value.problem === 'string'

/** `did you mean` is for whoever wrote the request by hand. */
const sayProblem = ({ field, problem }: Problem, format: Writing): string => {
  const [first = ''] = problem.split('; did you mean')
  const name = fields[field.split('.')[0] ?? ''] ?? field
  return `${name}: ${translateProblem(first, format) ?? problem}.`
}

/** Why the shop has refused, in the reader's language: its own words where nobody has translated them. */
export function sayRefusal(refusal: CallRefused, language: 'en' | 'ru', format: Writing): string {
  const { code, message, details } = refusal
  if (language === 'en') return message
  if (Array.isArray(details) && details.length > 0 && details.every(isProblem)) {
    return details.map((each) => sayProblem(each, format)).join(' ')
  }
  const said = translateMessage(message, format)
  if (said !== undefined) return said
  const meaning = code in meanings ? meanings[code as Code] : undefined
  return meaning === undefined ? message : `${meaning} (${message})`
}
