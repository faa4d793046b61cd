import { expect, test } from 'bun:test'
import { isOperatorName, isOperatorToken, makeOperatorToken, mayActAs, roles, toRequestText } from './rules.ts'

test('a role includes the roles below it, and no other', () => {
  const may = roles.map((has) => roles.filter((needed) => mayActAs(has, needed)))
  expect(may).toEqual([['owner', 'support', 'reader'], ['support', 'reader'], ['reader']])
})

test('an operator’s token has its own prefix and passes its checksum', () => {
  const text = makeOperatorToken(new Uint8Array(32))
  expect(text).toMatch(/^tpo_[0-9a-z]{39}$/)
  expect([isOperatorToken(text), isOperatorToken(text.replace('tpo_', 'tps_')), isOperatorToken(`${text}0`)]).toEqual([
    true,
    false,
    false,
  ])
})

test('the audit log stores a request without secrets at any depth, cut at 4,000 characters', () => {
  const request = {
    password: 'x1',
    deep: [{ secret: 'x2', code: 'x3' }],
    link: 'x4',
    link_mbit: 5,
    country_code: 'DE',
    n: 5n,
  }
  const text = toRequestText(request)
  expect(text).not.toMatch(/x\d/)
  expect(JSON.parse(text)).toMatchObject({ link_mbit: 5, country_code: 'DE', n: '5' })
  const long = toRequestText({ addresses: Array.from({ length: 5000 }, (_, index) => `10.0.${index}`) })
  expect(long.length).toBeLessThan(9000)
  expect(() => JSON.parse(long)).not.toThrow()
})

test('an operator’s name has 1 to 64 letters, digits, dots, dashes and underscores', () => {
  for (const name of ['anna', 'Anna.B', 'a', '0-1_2']) expect(isOperatorName(name)).toBe(true)
  for (const name of ['', ' anna', 'anna ', 'an na', '-anna', 'ann\u0430', 'a'.repeat(65)]) {
    expect(isOperatorName(name)).toBe(false)
  }
})
