import type { AnswerLanguage } from '../../api/language.ts'
import { type DoctorSentences, type Pair, sentences } from './messages-en.ts'
import { russianSentences } from './messages-ru.ts'

/** The arguments that make an advice; a reason without parameters is the only argument. */
export type DoctorArguments = {
  readonly [Key in keyof DoctorSentences]: DoctorSentences[Key] extends (of: infer Params) => Pair
    ? readonly [reason: Key, params: Params]
    : readonly [reason: Key]
}[keyof DoctorSentences]

const languages = { en: sentences, ru: russianSentences } as const

/** The language of the terminal: Russian if its locale is, else English. */
export const terminalLanguageOf = (env: Readonly<Record<string, string | undefined>>): AnswerLanguage =>
  /^ru/i.test(env['LC_ALL'] || env['LC_MESSAGES'] || env['LANG'] || '') ? 'ru' : 'en'

export const toSentences = (...[reason, params]: DoctorArguments): Pair => sentenceIn('en', reason, params)

function sentenceIn(language: AnswerLanguage, reason: keyof DoctorSentences, params: unknown): Pair {
  const sentence = languages[language][reason] as Pair | ((of: unknown) => Pair)
  return typeof sentence === 'function' ? sentence(params) : sentence
}

/** The advice as it is shown, in one language. */
export const translate = <
  Shown extends { of: string; russianOf: string; reason: keyof DoctorSentences; params: object },
>(
  { russianOf, ...advice }: Shown,
  language: AnswerLanguage,
) => ({
  ...advice,
  of: language === 'ru' ? russianOf : advice.of,
  ...sentenceIn(language, advice.reason, advice.params),
})

/** The last line of the report. */
export function toSummary(wrong: number, notes: number, language: AnswerLanguage): string {
  if (language === 'ru') {
    if (wrong > 0) return `Требуют внимания: ${wrong}.`
    return notes > 0 ? `Исправлять нечего. Замечаний: ${notes}.` : 'Исправлять нечего.'
  }
  if (wrong > 0) return `${wrong} ${wrong === 1 ? 'check' : 'checks'} failed.`
  return notes > 0 ? `Nothing to do. ${notes} ${notes === 1 ? 'note' : 'notes'}.` : 'Nothing to do.'
}
