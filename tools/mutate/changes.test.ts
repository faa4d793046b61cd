import { expect, test } from 'bun:test'
import { apply, findChanges } from './changes.ts'

const changed = (source: string, path = 'src/domains/orders/rules.ts') =>
  findChanges(path, source).map((change) => apply(source, change))

test('a comparison is turned and moved by one', () => {
  expect(changed('const f = (a: number) => g(a < 3)')).toEqual([
    'const f = (a: number) => g(a <= 3)',
    'const f = (a: number) => g(a >= 3)',
    'const f = (a: number) => g(a < 4)',
    'const f = (a: number) => g(a < 2)',
  ])
})

test('a guard is switched off, and what it throws is left out', () => {
  expect(changed('if (a) throw refused(1)')).toEqual(['if (false) throw refused(1)', 'if (a) ;'])
})

test('a condition that chooses is forced either way', () => {
  expect(changed('const x = a ? b : c')).toEqual(['const x = true ? b : c', 'const x = false ? b : c'])
})

test('an answer is negated, and its terms are swapped', () => {
  expect(changed('const f = () => a && b')).toEqual(['const f = () => !(a && b)', 'const f = () => a || b'])
})

test('signs, sums and limits are changed', () => {
  expect(changed('x = -a')).toEqual(['x = a'])
  expect(changed('x = a + b')).toEqual(['x = a - b'])
  expect(changed('x = Math.min(a, b)')).toEqual(['x = Math.max(a, b)'])
  expect(changed('const s = z.string().max(n)')).toEqual(['const s = z.string()'])
  expect(changed('const x = 5n')).toEqual(['const x = 6n', 'const x = 4n'])
  expect(changed('const waitMs = 250')).toEqual(['const waitMs = 2500'])
})

test('a statement that acts is left out', () => {
  expect(changed('await store.write(tx)')).toEqual([';'])
})

test('a condition of SQL is switched off and keeps its parameters', () => {
  expect(changed("tx.run('SELECT a FROM b WHERE c = $1 AND d < $2')").slice(1)).toEqual([
    "tx.run('SELECT a FROM b WHERE (c = $1 OR 1 = 1) AND d < $2')",
    "tx.run('SELECT a FROM b WHERE c = $1 AND (d < $2 OR 1 = 1)')",
    "tx.run('SELECT a FROM b WHERE c = $1 AND d <= $2')",
  ])
})

test('SQL within a template is changed around its substitutions', () => {
  const source = 'x = `SELECT ${a} FROM b WHERE c IN (${d}) AND e IS NULL ${f}`'
  expect(changed(source)).toEqual([
    'x = `SELECT ${a} FROM b WHERE c IN (${d}) AND (e IS NULL OR 1 = 1) ${f}`',
    'x = `SELECT ${a} FROM b WHERE c IN (${d}) AND e IS NOT NULL ${f}`',
  ])
})

test('the bounds of BETWEEN are no condition of their own', () => {
  expect(changed("x = 'SELECT a FROM b WHERE c BETWEEN $1 AND $2'")).toHaveLength(1)
})

test('types, texts, messages, logs and imports are left alone', () => {
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
