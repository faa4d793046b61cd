import { expect, test } from 'bun:test'
import { type Address, formatAddress, readAddress } from '../../../../core/address.ts'
import { shownAddress } from './socket-client.ts'

const at = (text: string): Address => readAddress(text) as Address

test.each([
  ['203.0.114.5', '8.8.8.8', '203.0.114.5'],
  ['10.0.0.5', '10.0.0.9', '10.0.0.5'],
  ['127.0.0.1', '127.0.0.1', '127.0.0.1'],
  ['10.0.0.5', '8.8.8.8', '0.0.0.0'],
  ['fd00::5', '2606:4700::1', '::'],
  ['2606:4700::5', 'fd00::1', '2606:4700::5'],
])('a relay at %s shows a client at %s the address %s', (own, client, shown) => {
  expect(formatAddress(shownAddress(at(own), at(client)))).toBe(shown)
})
