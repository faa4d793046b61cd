import { expect, test } from 'bun:test'
import { HeldBytes } from './bytes.ts'

test.each([
  ['an array', (text: string) => new Uint8Array(Buffer.from(text))],
  ['a buffer, whose slice() is no copy', (text: string) => Buffer.from(text)],
])('what is held stays what it was when the memory it came in, %s, is used again', (_, make) => {
  const held = new HeldBytes(100)
  for (const text of ['one ', 'two']) {
    const bytes = make(text)
    expect(held.add(bytes)).toBe(true)
    bytes.fill(0)
  }
  expect(Buffer.from(held.take()).toString()).toBe('one two')
  expect(held.take()).toHaveLength(0)
})

test('no more is held than the limit, and what would pass it is left whole', () => {
  const held = new HeldBytes(5)
  expect([held.add(Buffer.from('123')), held.add(Buffer.from('456')), held.add(Buffer.from('45'))]).toEqual([
    true,
    false,
    true,
  ])
  expect(Buffer.from(held.take()).toString()).toBe('12345')
})
