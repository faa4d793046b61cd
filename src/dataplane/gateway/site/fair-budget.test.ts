import { expect, test } from 'bun:test'
import { FairBudget } from './fair-budget.ts'

test('FairBudget refuses more than 40 bytes of one prefix, and gives returned bytes out again', () => {
  const budget = new FairBudget({ all: 100, ofPrefix: 40 })
  const [one, two] = [budget.open('a', () => {}), budget.open('a', () => {})]
  expect([one.resize(30), two.resize(11), two.resize(10), budget.bytes]).toEqual([true, false, true, 40])
  expect([one.resize(5), two.resize(35), one.resize(0), two.resize(0), budget.bytes]).toEqual([
    true,
    true,
    true,
    true,
    0,
  ])
})

test('FairBudget drops the oldest holding of the largest prefix for a smaller one when all 100 bytes are in use', () => {
  const budget = new FairBudget({ all: 100, ofPrefix: 60 })
  const dropped: string[] = []
  for (const name of ['a1', 'a2', 'b1']) {
    const isHeld = budget.open(name.charAt(0), () => void dropped.push(name)).resize(name === 'b1' ? 40 : 30)
    expect(isHeld).toBe(true)
  }
  expect(budget.open('c', () => {}).resize(20)).toBe(true)
  expect([dropped, budget.bytes]).toEqual([['a1'], 90])
  expect(budget.open('d', () => {}).resize(50)).toBe(false)
})
