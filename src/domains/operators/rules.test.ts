import { expect, test } from 'bun:test'
import { isOperatorName, isOperatorToken, makeOperatorToken, mayActAs, roles, toRequestText } from './rules.ts'

test('a role does what the roles below it do, and no more', () => {
  const may = roles.map((has) => roles.filter((needed) => mayActAs(has, needed)))
  expect(may).toEqual([['owner', 'support', 'reader'], ['support', 'reader'], ['reader']])
})

test('a token says that it is an operator’s, and passes its own check', () => {
  const text = makeOperatorToken(new Uint8Array(32))
  expect(text).toMatch(/^tpo_[0-9a-z]{39}$/)
  expect([isOperatorToken(text), isOperatorToken(text.replace('tpo_', 'tps_')), isOperatorToken(`${text}0`)]).toEqual([
    true,
    false,
    false,
  ])
})

test('what was asked for is kept without secrets, at any depth, and no longer than it may be', () => {
  const asked = {
    password: 'x1',
    deep: [{ secret: 'x2', code: 'x3' }],
    link: 'x4',
    link_mbit: 5,
    country_code: 'DE',
    n: 5n,
  }
  const text = toRequestText(asked)
  expect(text).not.toMatch(/x\d/)
  expect(JSON.parse(text)).toMatchObject({ link_mbit: 5, country_code: 'DE', n: '5' })
  const long = toRequestText({ addresses: Array.from({ length: 5000 }, (_, index) => `10.0.${index}`) })
  expect(long.length).toBeLessThan(9000)
  expect(() => JSON.parse(long)).not.toThrow()
})

test('a name is what one can type and nobody can mistake', () => {
  for (const name of ['anna', 'Anna.B', 'a', '0-1_2']) expect(isOperatorName(name)).toBe(true)
  for (const name of ['', ' anna', 'anna ', 'an na', '-anna', 'ann\u0430', 'a'.repeat(65)]) {
    expect(isOperatorName(name)).toBe(false)
  }
})
