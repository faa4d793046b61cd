import { expect, test } from 'bun:test'
import { apply, findChanges } from './changes.ts'

const changed = (source: string, path = 'src/domains/orders/rules.ts') =>
  findChanges(path, source).map((change) => apply(source, change))

test('findChanges reverses a comparison and moves its bound by 1', () => {
  expect(changed('const f = (a: number) => g(a < 3)')).toEqual([
    'const f = (a: number) => g(a <= 3)',
    'const f = (a: number) => g(a >= 3)',
    'const f = (a: number) => g(a < 4)',
    'const f = (a: number) => g(a < 2)',
  ])
})

test('findChanges switches a guard off and removes its throw', () => {
  expect(changed('if (a) throw refused(1)')).toEqual(['if (false) throw refused(1)', 'if (a) ;'])
})

test('findChanges forces the condition of a choice to true and to false', () => {
  expect(changed('const x = a ? b : c')).toEqual(['const x = true ? b : c', 'const x = false ? b : c'])
})

test('findChanges negates a returned condition and swaps its operator', () => {
  expect(changed('const f = () => a && b')).toEqual(['const f = () => !(a && b)', 'const f = () => a || b'])
})

test('findChanges changes signs, sums, limits, numbers and durations', () => {
  expect(changed('x = -a')).toEqual(['x = a'])
  expect(changed('x = a + b')).toEqual(['x = a - b'])
  expect(changed('x = Math.min(a, b)')).toEqual(['x = Math.max(a, b)'])
  expect(changed('const s = z.string().max(n)')).toEqual(['const s = z.string()'])
  expect(changed('const x = 5n')).toEqual(['const x = 6n', 'const x = 4n'])
  expect(changed('const waitMs = 250')).toEqual(['const waitMs = 2500'])
})

test('findChanges removes a call statement', () => {
  expect(changed('await store.write(tx)')).toEqual([';'])
})

test('findChanges makes an SQL condition always true and keeps its parameters', () => {
  expect(changed("tx.run('SELECT a FROM b WHERE c = $1 AND d < $2')").slice(1)).toEqual([
    "tx.run('SELECT a FROM b WHERE (c = $1 OR 1 = 1) AND d < $2')",
    "tx.run('SELECT a FROM b WHERE c = $1 AND (d < $2 OR 1 = 1)')",
    "tx.run('SELECT a FROM b WHERE c = $1 AND d <= $2')",
  ])
})

test('findChanges changes SQL in a template and keeps its substitutions', () => {
  const source = 'x = `SELECT ${a} FROM b WHERE c IN (${d}) AND e IS NULL ${f}`'
  expect(changed(source)).toEqual([
    'x = `SELECT ${a} FROM b WHERE c IN (${d}) AND (e IS NULL OR 1 = 1) ${f}`',
    'x = `SELECT ${a} FROM b WHERE c IN (${d}) AND e IS NOT NULL ${f}`',
  ])
})

test('findChanges treats the bounds of BETWEEN as part of one condition', () => {
  expect(changed("x = 'SELECT a FROM b WHERE c BETWEEN $1 AND $2'")).toHaveLength(1)
})

test('findChanges skips types, texts, messages, log calls and imports', () => {
  for (const source of [
    "import { a } from './1.ts'",
    'type A = { readonly a: 1 | 2; b: true }',
    "const a = 'take 1 and 2 or leave them'",
    "log.warn('seen', { count: 1 })",
    "const a = { description: 'at most 5', example: 5 }",
    "const e = new RangeError('more than 1')",
    'const a = b + `, and more`',
  ]) {
    expect(changed(source)).toEqual([])
  }
  expect(changed("const a = whole('How many of them are left.', 5)", 'src/api/customer/vpn/shapes.ts')).toEqual([])
})
