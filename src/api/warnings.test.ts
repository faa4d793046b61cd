import { describe, expect, test } from 'bun:test'
import { z } from '@hono/zod-openapi'
import * as fc from 'fast-check'
import { toText } from '../core/messages/catalogue.ts'
import type { FieldProblem } from '../core/messages/problems.ts'
import { problemsEn } from '../core/messages/problems-en.ts'
import { findWarnings } from './warnings.ts'

const sentenceOf = (problem: FieldProblem | undefined) => problem && toText(problemsEn, problem)

const names = ['pool_type', 'country_code', 'countries', 'session_ttl', 'quantity', 'format_id', 'ids', 'ip']
const body = z.object(Object.fromEntries(names.map((name) => [name, z.string()])))
const operation = {
  method: 'POST' as const,
  query: z.object({}),
  body,
  singular: { country: 'countries' },
  inner: [],
  charges: true,
  creates: false,
}
const problemOf = (name: string) =>
  sentenceOf(findWarnings({ ...operation, singular: {} }, {}, { [name]: 1 }, new Headers()).warnings[0])

describe('findWarnings for an unknown field', () => {
  test.each([
    ['country', 'countries'],
    ['Countries', 'countries'],
    ['countryCode', 'country_code'],
    ['contry_code', 'country_code'],
    ['ttl', 'session_ttl'],
    ['pool', 'pool_type'],
    ['formatId', 'format_id'],
    ['quantitiy', 'quantity'],
    ['id', 'ids'],
  ])('findWarnings suggests for the unknown field %s the known field %s', (name, nearest) => {
    expect(problemOf(name)).toBe(`is not known here; did you mean ${nearest}?`)
  })

  test.each(['colour', 'x', '', 'зона', '\u{1f600}', 'x'.repeat(65_000), 'constructor'])(
    'findWarnings suggests nothing if no known field is similar: %#',
    (name) => expect(problemOf(name)).toBe('is not known here and was ignored'),
  )
})

test('findWarnings warns of every unknown field and of no known one', () => {
  const keys = fc.uniqueArray(fc.oneof(fc.constantFrom(...names), fc.string({ unit: 'binary', maxLength: 30 })), {
    maxLength: 15,
  })
  fc.assert(
    fc.property(keys, (given) => {
      const sent = Object.assign(Object.create(null), Object.fromEntries(given.map((key) => [key, 1])))
      const { warnings } = findWarnings({ ...operation, singular: {} }, {}, sent, new Headers())
      const known = new Set(names)
      expect(warnings.map((each) => each.field).toSorted()).toEqual(
        Object.keys(sent)
          .filter((key) => !known.has(key))
          .toSorted(),
      )
    }),
  )
})

test('findWarnings reads a singular field as a list of one, and does not change the sent object', () => {
  const sent = { country: 'DE', pool_type: 'x' }
  const { fields } = findWarnings(operation, {}, sent, new Headers())
  expect(fields).toEqual({ pool_type: 'x', countries: ['DE'] })
  expect(sent).toEqual({ country: 'DE', pool_type: 'x' })
})

test('findWarnings checks the fields of a nested object only if namesIn returns its names', () => {
  const namesIn = ({ product }: { readonly product?: unknown }) => (product === 'a' ? ['product', 'count'] : undefined)
  const find = (value: Parameters<typeof findWarnings>[2][string]) =>
    findWarnings(
      { ...operation, body: z.object({ what: z.any() }), inner: [{ field: 'what', namesIn }] },
      {},
      { what: value },
      new Headers(),
    ).warnings
  expect(find({ product: 'a', cout: 1, count: 2 })).toEqual([
    { field: 'what.cout', reason: 'ignored_similar', params: { nearest: 'count' } },
  ])
  for (const value of [{ product: 'b', cout: 1 }, null, 'a', [{ cout: 1 }]]) expect(find(value)).toEqual([])
})

test('findWarnings explains the first 20 of 5,000 unknown fields and counts the others', () => {
  let lookups = 0
  class Names extends Array<string> {
    override [Symbol.iterator]() {
      lookups += 1
      return super[Symbol.iterator]()
    }
  }
  const namesIn = () => new Names('product', 'count')
  const what = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`name${index}`, 1]))
  const nested = { ...operation, body: z.object({ what: z.any() }), inner: [{ field: 'what', namesIn }] }
  const { warnings } = findWarnings(nested, {}, { what }, new Headers())
  expect([warnings.length, lookups]).toEqual([21, 20])
  expect(warnings.at(-1)).toEqual({ field: 'body', reason: 'more_unknown', params: { fields: 4980 } })
  expect(sentenceOf(warnings.at(-1))).toBe('has 4980 more fields that are not known here')
})
