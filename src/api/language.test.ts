import { expect, test } from 'bun:test'
import { languageOf } from './language.ts'

test('languageOf returns Russian only if Accept-Language prefers it to English', () => {
  const russian = { ru: 'ru', 'ru-RU,ru;q=0.9,en;q=0.8': 'ru', 'en;q=0.4, RU;q=0.5': 'ru' }
  const others = { 'en, ru': 'en', 'de, ru;q=0': 'en', 'en-GB,en;q=0.9,ru;q=0.8': 'en', '*': 'en', 'ru;q=x': 'en' }
  for (const [accepted, language] of Object.entries({ ...russian, ...others })) {
    expect([accepted, languageOf(new Headers({ 'Accept-Language': accepted }))]).toEqual([accepted, language])
  }
  expect(languageOf(new Headers())).toBe('en')
})
