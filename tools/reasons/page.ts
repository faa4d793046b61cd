import { resolve } from 'node:path'
import { apiReasons, statusOfCode } from '../../src/api/operation.ts'
import { codeOf } from '../../src/core/messages/codes.ts'
import { en } from '../../src/core/messages/en.ts'

export const reasonsFile = resolve(import.meta.dir, '../../docs/api/reasons.md')

const isApiCode = (code: string): code is keyof typeof statusOfCode => code in statusOfCode

/** docs/api/reasons.md: every reason of a refusal, by status, code and name. */
export function toReasonsPage(): string {
  const rows = apiReasons.flatMap((reason) => {
    const [code, sentence] = [codeOf(reason), en[reason]]
    const message = typeof sentence === 'string' ? sentence.replaceAll('|', '\\|') : '(with values from `params`)'
    return isApiCode(code) ? [{ reason, code, status: statusOfCode[code], message }] : []
  })
  rows.sort((a, b) => a.status - b.status || (a.code + a.reason < b.code + b.reason ? -1 : 1))
  return [
    '# Reasons of refusals',
    '',
    `\`npm run reasons\` writes this page from the tables of the program: ${rows.length} reasons,`,
    'of the APIs for customers, sign-in and operators.',
    '[errors.md](errors.md) explains the fields of a refusal and its codes.',
    '',
    '| status | code | reason | message |',
    '|---|---|---|---|',
    ...rows.map((each) => `| ${each.status} | \`${each.code}\` | \`${each.reason}\` | ${each.message} |`),
    '',
  ].join('\n')
}
