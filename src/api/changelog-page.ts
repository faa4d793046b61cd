import { type Change, changelog } from './changelog.ts'
import type { AnswerLanguage } from './language.ts'

const heads: Readonly<Record<AnswerLanguage, string>> = {
  en: `# Changelog of the API

[По-русски](../ru/changelog.md)

Programs read the same at \`GET /changelog\`. A release that changes or removes something is a **version**, named by
its date. A token keeps the version that was the newest when it was made, so
such a release changes nothing for your program. Every answer to a known caller names its version in
\`Turnpike-Version\`. Send the header \`Turnpike-Version\` with another version to try it in one request;
an unknown one is refused with 400 and the list of known ones. \`POST /tokens/version\` sets the version of a token.
The console has the newest one.

Other releases only add operations, fields, reasons and values: a program must ignore what it does not know. A
repeat under an \`Idempotency-Key\` that an older version answered gets that answer as it was.`,
  ru: `# Изменения API

[In English](../api/changelog.md)

Программы читают то же в \`GET /changelog\`. Выпуск, который что-то меняет или убирает, — это **версия**, её имя —
дата. Токен сохраняет версию, которая была новейшей, когда его создали, поэтому
такой выпуск ничего не меняет для вашей программы. Каждый ответ известному клиенту называет свою версию в
\`Turnpike-Version\`. Пришлите заголовок \`Turnpike-Version\` с другой версией, чтобы
попробовать её в одном запросе; неизвестная получает отказ 400 со списком известных. \`POST /tokens/version\` задаёт
версию токена. У кабинета она новейшая.

Остальные выпуски только добавляют операции, поля, причины и значения: программа не должна обращать внимания на
незнакомое. Повтор с \`Idempotency-Key\`, на который ответила старая версия, получает тот ответ, каким он был.`,
}

const names: Readonly<Record<AnswerLanguage, Readonly<Record<Change['kind'], string>> & { readonly version: string }>> =
  {
    en: { added: 'Added', changed: 'Changed', removed: 'Removed', fixed: 'Fixed', version: 'a version' },
    ru: { added: 'Добавлено', changed: 'Изменено', removed: 'Убрано', fixed: 'Исправлено', version: 'версия' },
  }

/** The changelog as an article of /docs, in Markdown. */
export function toChangelogPage(language: AnswerLanguage): string {
  const of = names[language]
  const sections = changelog.map(({ date, isVersion, changes }) => {
    const lines = changes.map(({ kind, text, textRu, operations }) => {
      const which = operations.length === 0 ? '' : ` (${operations.map((id) => `\`${id}\``).join(', ')})`
      return `- ${of[kind]}: ${language === 'ru' ? textRu : text}${which}`
    })
    return `## ${date}${isVersion ? `, ${of.version}` : ''}\n\n${lines.join('\n')}`
  })
  return `${heads[language]}\n\n${sections.join('\n\n')}\n`
}
