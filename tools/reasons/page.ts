import { resolve } from 'node:path'
import { type AnswerLanguage, sentencesOf } from '../../src/api/language.ts'
import { apiReasons, statusOfCode } from '../../src/api/operation.ts'
import { codeOf } from '../../src/core/messages/codes.ts'
import type { Reason } from '../../src/core/messages/sentences.ts'
import { examples } from './examples.ts'

const isApiCode = (code: string): code is keyof typeof statusOfCode => code in statusOfCode

/** Of each language's page: its path below `docs`, and the text before its rows. */
const pages = {
  en: {
    path: 'api/reasons.md',
    head: `# Reasons of refusals

[По-русски](../ru/reasons.md)

\`npm run reasons\` writes this page from the tables of the program: COUNT reasons,
of the APIs for customers, sign-in and operators.
Values in the messages are examples; \`params\` of a refusal has its own.
[errors.md](errors.md) explains the fields of a refusal and its codes.

| status | code | reason | message |`,
  },
  ru: {
    path: 'ru/reasons.md',
    head: `# Причины отказов

[In English](../api/reasons.md)

\`npm run reasons\` пишет эту страницу по таблицам программы. Причин в API для покупателей, входа и операторов: COUNT.
Значения в сообщениях — примеры; у отказа в \`params\` свои.
Поля отказа и его коды описаны в [errors.md](errors.md).

| статус | код | причина | сообщение |`,
  },
} as const

export const reasonsFile = (language: AnswerLanguage): string =>
  resolve(import.meta.dir, '../../docs', pages[language].path)

/** Values that differ from the examples of all other reasons. */
const ownValues: Partial<
  Record<Reason, Partial<typeof examples | { readonly needed: string; readonly name: string }>>
> = {
  role_too_low: { needed: 'owner' },
  operator_name_taken: { name: 'anna' },
  provider_not_configured: { name: 'yookassa' },
}

function exampleSentence(language: AnswerLanguage, reason: Reason): string {
  const sentence = sentencesOf[language][reason]
  return typeof sentence === 'string' ? sentence : sentence({ ...examples, ...ownValues[reason] })
}

/** Every reason of a refusal, by status, code and name. */
export function toReasonsPage(language: AnswerLanguage): string {
  const { head } = pages[language]
  const rows = apiReasons.flatMap((reason) => {
    const code = codeOf(reason)
    const message = exampleSentence(language, reason).replaceAll('|', '\\|')
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
