import { expect, test } from 'bun:test'
import { findNetnsSupport } from '../../../../../test/harness/netns-support.ts'
import { enterOwnNetwork } from '../../../../../test/harness/own-network.ts'
import { until } from '../../../../../test/harness/until.ts'
import { readAddress } from '../../../../core/address.ts'
import { createTryAddress, createTryListener, edgeAddresses } from './try-address.ts'

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

test('a listener on one address covers only that IPv4 address, any IPv6 address, and all behind an entry', () => {
  const problemOf = (listen: string, text: string, isBehindEntry = false) => {
    const address = readAddress(text)
    return address && createTryListener(listen, () => isBehindEntry)(address)
  }
  for (const all of ['::', '0.0.0.0', '::ffff:0.0.0.0', 'gate.example.net']) {
    expect(problemOf(all, '203.0.113.8')).toBeUndefined()
  }
  for (const one of ['203.0.113.7', '::ffff:203.0.113.7', '2001:db8::7']) {
    expect(problemOf(one, '203.0.113.8')).toBe('not_listened_on')
    expect(problemOf(one, '203.0.113.8', true)).toBeUndefined()
    expect(problemOf(one, '2001:db8::8')).toBeUndefined()
  }
  expect(problemOf('203.0.113.7', '203.0.113.7')).toBeUndefined()
  expect(problemOf('::ffff:203.0.113.7', '203.0.113.7')).toBeUndefined()
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

const netns = await findNetnsSupport('the test of addresses with ip_nonlocal_bind')

netns.test('with ip_nonlocal_bind=1, tryAddress accepts only addresses of a local route or an interface', async () => {
  const network = enterOwnNetwork()
  try {
    for (const family of ['ipv4', 'ipv6']) Bun.spawnSync(['sysctl', '-qw', `net.${family}.ip_nonlocal_bind=1`])
    const tryAddress = createTryAddress(process.platform)
    const tryAll = () =>
      ['2001:db8:7::9', '203.0.113.9', '2001:db8:8::1', '2001:db8:8::2', '::1', '127.0.0.1'].map((text) => {
        const address = readAddress(text)
        return address ? (tryAddress(address) ?? 'usable') : 'no address'
      })
    const lacking = 'not_on_this_machine'
    expect(tryAll()).toEqual([lacking, lacking, lacking, lacking, 'usable', 'usable'])
    // A route to the range does not put it on the machine.
    network.ip('link', 'add', 'w0', 'type', 'veth', 'peer', 'name', 'p0')
    for (const device of ['w0', 'p0']) network.ip('link', 'set', device, 'up')
    network.ip('address', 'add', '2001:db8:8::1/64', 'dev', 'w0', 'nodad')
    network.ip('-6', 'route', 'add', 'default', 'via', '2001:db8:8::2')
    // The kernel notices a moment later that the device has a carrier.
    await until(() => tryAll()[2] === 'usable')
    expect(tryAll()).toEqual([lacking, lacking, 'usable', lacking, 'usable', 'usable'])
    network.ip('route', 'add', 'local', '2001:db8:7::/48', 'dev', 'lo')
    network.ip('route', 'add', 'local', '203.0.113.0/24', 'dev', 'lo')
    expect(tryAll()).toEqual(['usable', 'usable', 'usable', lacking, 'usable', 'usable'])
  } finally {
    network.leave()
  }
})
