import { Button } from '@mantine/core'
import { createFormat, type Language, messages, pair, phrase, useMessages } from './messages.tsx'
import { RefusalNotice } from './parts.tsx'
import { methodNames, tradeMessages } from './trade.ts'

/**
 * The notes that the shop stores with postings, and their translations. `{}` is a variable part; `{months}` and
 * `{days}` are numbers with their noun. The hash chain covers the stored English note. An operator's own note is not
 * translated.
 */
const notes = toTable([
  ['VPN for {} month', 'VPN на {months}'],
  ['VPN for {} months', 'VPN на {months}'],
  ['VPN deleted before its end, {} month', 'VPN удалён досрочно, {months}'],
  ['VPN deleted before its end, {} months', 'VPN удалён досрочно, {months}'],
  ['{} × {} shared IPv4, {} days', '{} × {}, общий IPv4, {days}'],
  ['{} × {} {}, {} days', '{} × {}, {}, {days}'],
  ['prolonged {} by {} days', 'продление прокси: {}, на {days}'],
  ['renewed {} by {} days', 'автопродление прокси: {}, на {days}'],
  ['moved {} traffic', 'перенос трафика: {}'],
  ['deleted sub-user {}', 'удалён субпользователь {}'],
  ['sandbox money', 'деньги песочницы'],
  ['top-up by {}', 'способ: {}'],
  ['{} payment taken back', 'возврат платежа: {}'],
  ['share of a top-up', 'награда за приглашение'],
  ['share of a top-up taken back', 'награда за приглашение списана'],
  ['code {} taken back', 'бонус по промокоду {} списан'],
  ['code {}', 'промокод {}'],
  ['{} GB {}', '{} ГБ: {}'],
])

/** Why the check of a proxy failed, in the words of the shop. */
const probes = toTable([
  ['no answer within {} seconds', 'нет ответа в течение {} секунд'],
  ['the gateway is not running', 'шлюз не работает'],
  ['the gateway answered too much', 'слишком длинный ответ шлюза'],
  ['the gateway answered something that is not HTTP', 'шлюз ответил не по протоколу HTTP'],
  ['the gateway answered {}', 'шлюз ответил {}'],
  ['the gateway refused the connection with reply {}', 'шлюз отклонил соединение, код {}'],
  ['the gateway does not take a user name and password', 'шлюз не принимает логин и пароль'],
  ['the gateway refused the user name and password', 'шлюз отклонил логин и пароль'],
  ['the gateway closed the connection', 'шлюз закрыл соединение'],
])

type Table = readonly { readonly pattern: RegExp; readonly russian: string }[]

function toTable(of: readonly (readonly [english: string, russian: string])[]): Table {
  return of.map(([english, russian]) => ({ pattern: toPattern(english), russian }))
}

function toPattern(english: string): RegExp {
  const escaped = english.split('{}').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${escaped.join('(.+?)')}$`, 's')
}

const inRussian = createFormat('ru')

/** Puts the value into the first placeholder of the text. */
const fillNext = (text: string, value: string): string =>
  text.replace(/\{(\w*)\}/, (_, unit: string) => {
    if (unit === 'months') return inRussian.plural(Number(value), 'месяц', 'месяца', 'месяцев')
    if (unit === 'days') return inRussian.plural(Number(value), 'день', 'дня', 'дней')
    return value
  })

function translate(text: string, table: Table): string | undefined {
  for (const { pattern, russian } of table) {
    const found = pattern.exec(text)
    if (found) return found.slice(1).reduce(fillNext, russian)
  }
  return undefined
}

export function sayNote(note: string, language: Language): string {
  if (language === 'en') return note
  const translated = translate(note, notes)
  if (translated === undefined) return note
  return translated.replace(/: (\w+)$/, (whole, code: string) => {
    const name = tradeMessages.ru.pools[code] ?? methodNames.ru[code]
    return name === undefined ? whole : `: ${name.toLowerCase()}`
  })
}

/** Why the check of a proxy failed. Another error of the network has no translation and is not shown. */
export const sayProbe = (problem: string, language: Language): string =>
  language === 'en' ? problem : (translate(problem, probes) ?? 'соединение не удалось')

const checkMessages = messages({
  check: pair('Check', 'Проверить'),
  works: phrase('It works: a connection took {ms} ms.', 'Работает: соединение заняло {ms} мс.'),
  worksNot: pair('The check failed', 'Проверка не прошла'),
})

type ProxyCheckProps = {
  readonly of: {
    readonly data:
      | { readonly works: boolean; readonly took_ms: number | null; readonly problem: string | null }
      | undefined
    readonly error: Error | null
    readonly isPending: boolean
  }
  readonly onCheck: () => void
}

/** The button that checks a proxy, and its result. */
export function ProxyCheck({ of: { data, error, isPending }, onCheck }: ProxyCheckProps) {
  const { t, format, language } = useMessages(checkMessages)
  return (
    <div className="stack">
      <div>
        <Button variant="default" loading={isPending} onClick={onCheck}>
          {t.check}
        </Button>
      </div>
      <div role="status">
        {data && (
          <div className={data.works ? 'notice good' : 'notice'}>
            {data.works
              ? t.works(format.number(Math.round(data.took_ms ?? 0)))
              : `${t.worksNot}: ${sayProbe(data.problem ?? '', language)}`}
          </div>
        )}
      </div>
      <RefusalNotice error={error} />
    </div>
  )
}
