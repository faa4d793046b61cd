import { expect, test } from 'bun:test'
import { difference } from './difference.ts'

test('a difference names every leaf that was taken away, changed or added', () => {
  expect(difference(undefined, { a: { b: 1 } })).toEqual(['+ a.b: 1'])
  expect(difference({ a: { b: 1, c: [1, 2] } }, { a: { b: 2, c: [1], d: 'x' } })).toEqual([
    '- a.c.1: 2',
    '~ a.b: 1 -> 2',
    '+ a.d: "x"',
  ])
  expect(difference({ a: [] }, { a: {} })).toEqual([])
})
