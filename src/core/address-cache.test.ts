import { expect, test } from 'bun:test'
import { formatAddress, readAddress, readAddressCached } from './address.ts'

test('readAddressCached returns the result of readAddress, and the same object on each call', () => {
  for (const text of ['127.0.0.1', '2001:db8::1', '::ffff:10.0.0.1', '127.1', '0x7f.1', 'example.com', '']) {
    expect(readAddressCached(text)).toEqual(readAddress(text))
    expect(readAddressCached(text)).toBe(readAddressCached(text))
  }
})

test('readAddressCached returns the right address for 5000 different texts', () => {
  for (let number = 0; number < 5000; number += 1) {
    const text = `10.${number >> 8}.${number & 255}.7`
    const read = readAddressCached(text)
    expect(read && formatAddress(read)).toBe(text)
  }
})
