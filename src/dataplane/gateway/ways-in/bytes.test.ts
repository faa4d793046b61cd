import { expect, test } from 'bun:test'
import { HeldBytes } from './bytes.ts'

test.each([
  ['an array', (text: string) => new Uint8Array(Buffer.from(text))],
  ['a buffer', (text: string) => Buffer.from(text)],
])('HeldBytes keeps its content when the caller overwrites %s that it added', (_, make) => {
  const held = new HeldBytes(100)
  for (const text of ['one ', 'two']) {
    const bytes = make(text)
    expect(held.add(bytes)).toBe(true)
    bytes.fill(0)
  }
  expect(Buffer.from(held.take()).toString()).toBe('one two')
  expect(held.take()).toHaveLength(0)
})

test('HeldBytes(5) refuses a piece that exceeds 5 bytes and accepts a smaller one', () => {
  const held = new HeldBytes(5)
  expect([held.add(Buffer.from('123')), held.add(Buffer.from('456')), held.add(Buffer.from('45'))]).toEqual([
    true,
    false,
    true,
  ])
  expect(Buffer.from(held.take()).toString()).toBe('12345')
})
