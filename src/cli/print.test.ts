import { expect, test } from 'bun:test'
import { toLines, toText } from './print.ts'

const print = (data: unknown): string => toText({ json: data, lines: toLines(data) }, false)

test('a command prints no control character of a value, and a value adds no line to a table', () => {
  const hostile = 'a\u{1b}[2Jb\u{9b}31mc\rd\u{7f}e\u{202e}f'
  const items = [{ name: `${hostile}\ng\th`, version: '1' }]
  const table = print({ items, next_cursor: null })
  expect(table).not.toMatch(/(?!\n)\p{Cc}|\u{202e}/u)
  expect(table.split('\n')).toHaveLength(3)
  expect(table).toContain('a\u{fffd}[2Jb\u{fffd}31mc\u{fffd}d\u{fffd}e\u{fffd}f\u{fffd}g\u{fffd}h')
  expect(print({ name: hostile })).not.toMatch(/(?!\n)\p{Cc}|\u{202e}/u)
  expect(toText({ json: null, lines: [`It is ${hostile}.`] }, false)).not.toMatch(/(?!\n)\p{Cc}|\u{202e}/u)
  expect(toText({ json: null, lines: ['Имя: Ёж 🦔\tx'] }, false)).toBe('Имя: Ёж 🦔\tx\n')
})
