import { expect, test } from 'bun:test'
import { detect } from './socks5.ts'

test('the first byte tells the protocols apart, and 52 letters begin a method', () => {
  const found = Array.from({ length: 256 }, (_, byte) => detect(byte))
  expect(found[5]).toBe('socks5')
  expect(found[4]).toBe('socks4')
  const letters = found.flatMap((dialect, byte) => (dialect === 'http' ? [String.fromCharCode(byte)] : []))
  expect(letters.join('')).toBe('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz')
  expect(found.filter((dialect) => dialect === 'unknown')).toHaveLength(256 - 52 - 2)
})
