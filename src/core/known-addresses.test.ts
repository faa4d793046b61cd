import { expect, test } from 'bun:test'
import { formatAddress, readAddress } from './address.ts'
import { recallAddress } from './known-addresses.ts'

test('an address that was read before is the same, and what is none stays none', () => {
  for (const text of ['127.0.0.1', '2001:db8::1', '::ffff:10.0.0.1', '127.1', '0x7f.1', 'example.com', '']) {
    expect(recallAddress(text)).toEqual(readAddress(text))
    expect(recallAddress(text)).toBe(recallAddress(text))
  }
})

test('however many come, each is itself', () => {
  for (let number = 0; number < 5000; number += 1) {
    const text = `10.${number >> 8}.${number & 255}.7`
    const read = recallAddress(text)
    expect(read && formatAddress(read)).toBe(text)
  }
})
