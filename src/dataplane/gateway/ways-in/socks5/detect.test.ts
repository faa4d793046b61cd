import { expect, test } from 'bun:test'
import { detect } from './handshake.ts'

test('detect() finds SOCKS5 for byte 5, SOCKS4 for byte 4, and HTTP for 52 letters', () => {
  const found = Array.from({ length: 256 }, (_, byte) => detect(byte))
  expect(found[5]).toBe('socks5')
  expect(found[4]).toBe('socks4')
  const letters = found.flatMap((dialect, byte) => (dialect === 'http' ? [String.fromCharCode(byte)] : []))
  expect(letters.join('')).toBe('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz')
  expect(found.filter((dialect) => dialect === 'unknown')).toHaveLength(256 - 52 - 2)
})
