import { en } from '../core/messages/en.ts'
import { type FindingSentences, findingsEn } from '../core/messages/findings-en.ts'
import { findingsRu } from '../core/messages/findings-ru.ts'
import type { ProblemSentences } from '../core/messages/problems.ts'
import { problemsEn } from '../core/messages/problems-en.ts'
import { problemsRu } from '../core/messages/problems-ru.ts'
import { ru } from '../core/messages/ru.ts'
import type { Sentences } from '../core/messages/sentences.ts'

export type AnswerLanguage = 'en' | 'ru'

export const sentencesOf: Readonly<Record<AnswerLanguage, Sentences>> = { en, ru }
export const problemsOf: Readonly<Record<AnswerLanguage, ProblemSentences>> = { en: problemsEn, ru: problemsRu }
export const findingSentencesOf: Readonly<Record<AnswerLanguage, FindingSentences>> = { en: findingsEn, ru: findingsRu }

/** Russian where `Accept-Language` prefers it to English, English otherwise (RFC 9110, 12.5.4). */
export function languageOf(headers: Headers): AnswerLanguage {
  const accepted = headers.get('accept-language')
  if (accepted === null) return 'en'
  const weights: Record<string, number> = {}
  for (const each of accepted.toLowerCase().split(',')) {
    const [range = '', weight] = each.split(';')
    const language = range.trim().split('-')[0] ?? ''
    const quality = weight === undefined ? 1 : Number(/^\s*q=([\d.]+)\s*$/.exec(weight)?.[1] ?? 0)
    weights[language] = Math.max(weights[language] ?? 0, quality)
  }
  return (weights['ru'] ?? 0) > (weights['en'] ?? 0) ? 'ru' : 'en'
}

/** The language of a page: `lang` in its address, otherwise the one that `Accept-Language` prefers. */
export const pageLanguageOf = (asked: string | undefined, headers: Headers): AnswerLanguage =>
  asked === 'en' || asked === 'ru' ? asked : languageOf(headers)
