import type { CallRefused } from '../../client/call.ts'
import { problems } from './problems-ru.ts'
import { createTranslator, type Writing } from './translate.ts'

type Problem = { readonly field: string; readonly problem: string }

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

const translateProblem = createTranslator(problems)

const isProblem = (value: unknown): value is Problem =>
  typeof value === 'object' &&
  value !== null &&
  'field' in value &&
  'problem' in value &&
  typeof value.field === 'string' &&
  typeof value.problem === 'string'

/** `did you mean` helps a person who wrote the request by hand, so the console leaves it out. */
const sayProblem = ({ field, problem }: Problem, format: Writing): string => {
  const [first = ''] = problem.split('; did you mean')
  const name = fields[field.split('.')[0] ?? ''] ?? field
  return `${name}: ${translateProblem(first, format) ?? problem}.`
}

/** Why the shop has refused: its own sentence, in which the fields have their names on pages where it is Russian. */
export function sayRefusal({ message, details }: CallRefused, language: 'en' | 'ru', format: Writing): string {
  const isListed = Array.isArray(details) && details.length > 0 && details.every(isProblem)
  return language === 'ru' && isListed ? details.map((each) => sayProblem(each, format)).join(' ') : message
}
