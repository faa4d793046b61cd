import type { Verification } from '../client/operator.ts'
import { createTranslator, type Writing } from '../shared/refusals/translate.ts'
import { advices, coveredNames, parts, places, promises } from './findings-ru.ts'
import { problems } from './problems-ru.ts'

type Finding = Verification['findings'][number]
type Language = 'en' | 'ru'

const sayAdvice = createTranslator(advices)
const sayPlace = createTranslator(places)
const sayProblem = createTranslator(problems)

/** A finding in the reader's language; a text without a translation stays English. */
export function sayFinding(of: Finding, language: Language, format: Writing): Finding {
  if (language === 'en') return of
  return {
    promise: promises[of.promise] ?? of.promise,
    where: sayPlace(of.where, format) ?? coveredNames[of.where] ?? parts[of.where] ?? of.where,
    problem: sayProblem(of.problem, format) ?? of.problem,
    advice: sayAdvice(of.advice, format) ?? of.advice,
  }
}

/** The name of a part of the verification. */
export const sayPart = (name: string, language: Language): string => (language === 'en' ? name : (parts[name] ?? name))

/** A note about something that was not verified. */
export const sayUnseen = (note: string, language: Language, format: Writing): string =>
  language === 'en' ? note : (sayAdvice(note, format) ?? note)
