import { expect, test } from 'bun:test'
import { flattenConditions } from './flat-conditions.ts'

test.each([
  ['CHECK ((((a >= 0) AND (a < b)) AND (c IS NULL)))', 'CHECK (((a >= 0) AND (a < b) AND (c IS NULL)))'],
  ['CHECK (((a = 1) OR ((b = 2) OR (c = 3))))', 'CHECK (((a = 1) OR (b = 2) OR (c = 3)))'],
  ["CHECK ((((a = ')') AND b) AND c))", "CHECK (((a = ')') AND b AND c))"],
])('%s means the same as %s', (nested, flat) => {
  expect(flattenConditions(nested)).toBe(flattenConditions(flat))
})

test.each([
  ['CHECK (((a OR b) AND c))', 'CHECK ((a OR b AND c))'],
  ['CHECK (((a AND b) OR c))', 'CHECK ((a AND (b OR c)))'],
  ['CHECK ((NOT (a AND b) AND c))', 'CHECK ((NOT a AND b AND c))'],
  ['CHECK ((f(a AND b) AND c))', 'CHECK ((f a AND b AND c))'],
  ['CHECK (((a AND b) = c AND d))', 'CHECK ((a AND b = c AND d))'],
  ['CHECK ((CASE WHEN a AND (b AND c) THEN d END))', 'CHECK ((CASE WHEN a AND b AND c THEN d END))'],
  ["CHECK ((a = ' (b AND c)'))", "CHECK ((a = 'b AND c'))"],
  ["CHECK ((a = 'x  y'))", "CHECK ((a = 'x y'))"],
])('%s differs from %s', (one, other) => {
  expect(flattenConditions(one)).not.toBe(flattenConditions(other))
})
