import { expect, test } from 'bun:test'
import { problemsEn } from './problems-en.ts'
import { problemsRu } from './problems-ru.ts'

const values: Readonly<Record<string, unknown>> = {
  allowed: [1, 2],
  names: ['a', 'b'],
  fields: ['a', 'b'],
  others: ['a', 'b'],
  known: ['a', 'b'],
  of: ['letters', 'digits'],
  expected: 'list',
  thing: 'pool',
  fault: 'after_end',
}

/** The names of the parameters that a sentence reads. */
function readBy(sentence: unknown): string[] {
  if (typeof sentence !== 'function') return []
  const read = new Set<string>()
  const params = new Proxy({}, { get: (_, name) => (read.add(String(name)), values[String(name)] ?? 2) })
  expect(sentence(params)).not.toContain('undefined')
  return [...read].toSorted()
}

test('the Russian sentence of each field problem uses the same parameters as the English one', () => {
  for (const [key, sentence] of Object.entries(problemsEn)) {
    expect([key, readBy(problemsRu[key as keyof typeof problemsRu])]).toEqual([key, readBy(sentence)])
    expect([key, typeof sentence === 'function' && readBy(sentence).length === 0]).toEqual([key, false])
  }
})

test('the Russian problem too_slow uses the plural forms of 1, 2, 5 and 21 seconds', () => {
  const seconds = [1, 2, 5, 21].map((number) => problemsRu.too_slow({ seconds: number }))
  expect(seconds.map((each) => each.replace('не пришло за ', ''))).toEqual([
    '1 секунду',
    '2 секунды',
    '5 секунд',
    '21 секунду',
  ])
})
