import { expect, test } from 'bun:test'
import { readAddress } from '../../../core/address.ts'
import { createTryAddress, edgeAddresses } from './try-address.ts'

const on = (cidr: string, internal = false) => ({ address: cidr.split('/')[0] ?? '', cidr, internal })

test('edgeAddresses returns network and broadcast addresses that no interface has', () => {
  expect([...edgeAddresses([on('203.0.113.7/24')])]).toEqual(['203.0.113.0', '203.0.113.255'])
  expect([...edgeAddresses([on('203.0.113.200/29')])]).toEqual(['203.0.113.207'])
  expect([...edgeAddresses([on('203.0.113.7/24', true)])]).toEqual(['203.0.113.255'])
  // An interface may have the broadcast address of another network.
  expect([...edgeAddresses([on('203.0.113.7/24'), on('203.0.113.255/32')])]).toEqual(['203.0.113.0'])
  for (const none of ['203.0.113.7/32', '203.0.113.6/31', '127.0.0.1/8', '2001:db8::1/64']) {
    expect([...edgeAddresses([on(none)])]).toEqual([])
  }
})

test('tryAddress returns edge_of_its_network for a broadcast address, and reads the interfaces every 10 s', () => {
  let found = [on('127.0.0.1/8', true)]
  let nowMs = 0
  let reads = 0
  const tryAddress = createTryAddress(
    process.platform,
    () => ((reads += 1), found),
    () => nowMs,
  )
  const address = readAddress('127.0.0.1')
  if (!address) throw new Error('not an address')
  expect([tryAddress(address), tryAddress(address), reads]).toEqual([undefined, undefined, 1])
  found = [on('127.0.0.0/8', true)]
  expect(tryAddress(address)).toBeUndefined()
  nowMs += 10_000
  expect([tryAddress(address), reads]).toEqual([undefined, 2])
  found = [{ address: '126.0.0.9', cidr: '126.0.0.9/24', internal: false }]
  nowMs += 10_000
  const edge = readAddress('126.0.0.255')
  expect(edge && tryAddress(edge)).toBe('edge_of_its_network')
})
