import { resolve } from 'node:path'
import { type AnswerLanguage, sentencesOf } from '../../src/api/language.ts'
import { apiReasons, statusOfCode } from '../../src/api/operation.ts'
import { codeOf } from '../../src/core/messages/codes.ts'

const isApiCode = (code: string): code is keyof typeof statusOfCode => code in statusOfCode

/** Of each language's page: its path below `docs`, the text before its rows, and the text for a message with values. */
const pages = {
  en: {
    path: 'api/reasons.md',
    head: `# Reasons of refusals

[По-русски](../ru/reasons.md)

\`npm run reasons\` writes this page from the tables of the program: COUNT reasons,
of the APIs for customers, sign-in and operators.
[errors.md](errors.md) explains the fields of a refusal and its codes.

| status | code | reason | message |`,
    withValues: '(with values from `params`)',
  },
  ru: {
    path: 'ru/reasons.md',
    head: `# Причины отказов

[In English](../api/reasons.md)

\`npm run reasons\` пишет эту страницу по таблицам программы. Причин в API для покупателей, входа и операторов: COUNT.
Поля отказа и его коды описаны в [errors.md](errors.md).

| статус | код | причина | сообщение |`,
    withValues: '(со значениями из `params`)',
  },
} as const

export const reasonsFile = (language: AnswerLanguage): string =>
  resolve(import.meta.dir, '../../docs', pages[language].path)

/** Every reason of a refusal, by status, code and name. */
export function toReasonsPage(language: AnswerLanguage): string {
  const { head, withValues } = pages[language]
  const rows = apiReasons.flatMap((reason) => {
    const [code, sentence] = [codeOf(reason), sentencesOf[language][reason]]
    const message = typeof sentence === 'string' ? sentence.replaceAll('|', '\\|') : withValues
    return isApiCode(code) ? [{ reason, code, status: statusOfCode[code], message }] : []
  })
  rows.sort((a, b) => a.status - b.status || (a.code + a.reason < b.code + b.reason ? -1 : 1))
  return [
    head.replace('COUNT', String(rows.length)),
    '|---|---|---|---|',
    ...rows.map((each) => `| ${each.status} | \`${each.code}\` | \`${each.reason}\` | ${each.message} |`),
    '',
  ].join('\n')
}
