import { expect, test } from 'bun:test'
import {
  isOperatorName,
  isOperatorToken,
  makeOperatorToken,
  mayActAs,
  roles,
  toRequestText,
  withOutcome,
} from './rules.ts'

test('mayActAs lets owner act as support and reader, support as reader, and no role as a higher one', () => {
  const may = roles.map((has) => roles.filter((needed) => mayActAs(has, needed)))
  expect(may).toEqual([['owner', 'support', 'reader'], ['support', 'reader'], ['reader']])
})

test('isOperatorToken accepts the prefix tpo_ with a valid checksum only', () => {
  const text = makeOperatorToken(new Uint8Array(32))
  expect(text).toMatch(/^tpo_[0-9a-z]{39}$/)
  expect([isOperatorToken(text), isOperatorToken(text.replace('tpo_', 'tps_')), isOperatorToken(`${text}0`)]).toEqual([
    true,
    false,
    false,
  ])
})

test('toRequestText removes secrets at any depth, and shortens a long request to valid JSON', () => {
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

test('withOutcome adds an amount, or a version and 10 of its changes, to the request of an entry', () => {
  const added = (request: string, result: unknown): unknown => JSON.parse(withOutcome(request, result))
  expect(added('{"proxy":"3"}', { amount_rub: 5.5 })).toEqual({ proxy: '3', outcome: { amount_rub: 5.5 } })
  const payment = { amount_rub: 500, refunded_rub: 100 }
  expect(added('{}', payment)).toEqual({ outcome: { refunded_rub: 100 } })
  const changes = Array.from({ length: 12 }, (_, index) => `+ vpn.months.${index}: 1`)
  expect(added('{}', { version: 2, changes })).toEqual({
    outcome: { version: 2, change_count: 12, changes: changes.slice(0, 10) },
  })
  expect(withOutcome('{"a":1}', 7)).toBe('{"a":1}')
})

test('isOperatorName accepts 1 to 64 Latin letters, digits, dots, dashes and underscores', () => {
  for (const name of ['anna', 'Anna.B', 'a', '0-1_2']) expect(isOperatorName(name)).toBe(true)
  for (const name of ['', ' anna', 'anna ', 'an na', '-anna', 'ann\u0430', 'a'.repeat(65)]) {
    expect(isOperatorName(name)).toBe(false)
  }
})
