import { expect, test } from 'bun:test'
import { findDearest, findOverBudget, readMeasured, toFigures } from './budgets.ts'

const lines = ['b.test.ts', 'a.test.ts', 'b.test.ts']
  .map((file, index) => JSON.stringify({ file: `/checkout/test/${file}`, seconds: index + 1.04 }))
  .join('\n')

test('a file that ran on both engines has the larger of its two figures, and the dearest file is listed first', () => {
  const measured = readMeasured(`${lines}\n`, '/checkout')
  expect(findDearest(measured, 20)).toEqual(['cpu  3.0 s test/b.test.ts', 'cpu  2.0 s test/a.test.ts'])
  expect(findDearest(measured, 1)).toHaveLength(1)
})

test('a test file fails above 8 processor seconds, or above three times the figure in the table', () => {
  const figures = new Map([['dear.test.ts', 10]])
  const over = (file: string, seconds: number) => findOverBudget(new Map([[file, seconds]]), figures)
  expect(over('new.test.ts', 8)).toEqual([])
  expect(over('new.test.ts', 8.1)).toEqual(['new.test.ts: 8.1 processor seconds, over its budget of 8.0'])
  expect(over('dear.test.ts', 30)).toEqual([])
  expect(over('dear.test.ts', 30.1)).toHaveLength(1)
})

test('the table of figures keeps files that were not measured and leaves out files below a third of 8 s', () => {
  const earlier = new Map([
    ['kept.test.ts', 5],
    ['cheaper.test.ts', 5],
  ])
  const measured = new Map([
    ['cheaper.test.ts', 2.6],
    ['dearer.test.ts', 9.06],
  ])
  expect(toFigures(measured, earlier)).toEqual({ 'dearer.test.ts': 9.1, 'kept.test.ts': 5 })
})
