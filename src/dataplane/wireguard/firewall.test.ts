import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { addressFromNumber, contains, readPrefix, withoutNested } from '../../core/address.ts'
import { classify, specialPrefixes } from '../../core/reserved.ts'
import { readTunnelAddress } from './desired.ts'
import { toRuleset } from './firewall.ts'

const networks = ['10.66.0.1/16', 'fd74:7572:6e70::1/64'].flatMap((text) => readTunnelAddress(text) ?? [])

const limits = { inAll: 2048, perDestination: 500, newPerSecond: 256 }

describe('the firewall', () => {
  test('the special prefixes, and IPv6 outside 2000::/3, hold exactly the addresses that are not public', () => {
    const global = readPrefix('2000::/3')
    for (const [version, bits] of [
      [4, 32n],
      [6, 128n],
    ] as const) {
      const blocks = withoutNested(specialPrefixes(version))
      const inside = fc.nat(blocks.length - 1).chain((index) =>
        fc.bigInt(0n, 255n).map((offset) => {
          const bytes = blocks[index]?.base.bytes ?? new Uint8Array()
          return bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n) + offset
        }),
      )
      fc.assert(
        fc.property(fc.oneof(fc.bigInt(0n, (1n << bits) - 1n), inside), (number) => {
          const address = addressFromNumber(version, number % (1n << bits))
          const isSpecial = blocks.some((block) => contains(block, address))
          const isGlobal = version === 4 || (global !== undefined && contains(global, address))
          expect(!isSpecial && isGlobal).toBe(classify(address) === 'public')
        }),
        { numRuns: 2000 },
      )
    }
  })

  test('toRuleset drops other forwarding on a machine that did not forward before, and not on a router', () => {
    const host = toRuleset({ device: 'tpvpn0', networks, limits, forwarding: { v4: false, v6: false } })
    expect(host.match(/did not forward before/g)).toHaveLength(2)
    const router = toRuleset({ device: 'tpvpn0', networks, limits, forwarding: { v4: true, v6: undefined } })
    expect(router).not.toContain('did not forward before')
  })

  test('toRuleset names only the tables turnpike_vpn_tp_vpn0 and turnpike_vpn_tp_vpn0_limits, and does not flush the ruleset', () => {
    const text = toRuleset({ device: 'tp-vpn0', networks, limits, forwarding: { v4: true, v6: true } })
    const own = ['turnpike_vpn_tp_vpn0', 'turnpike_vpn_tp_vpn0_limits']
    const named = [...text.matchAll(/table inet (\S+)/g)].flatMap(([, name]) => name ?? [])
    expect(named.toSorted()).toEqual(own.flatMap((name) => [name, name, name]))
    expect(text).not.toContain('flush ruleset')
  })

  test('toRuleset divides ports 1024 to 65535 among 16 shares without a gap, and names each for IPv4 and IPv6', () => {
    const text = toRuleset({ device: 'tpvpn0', networks, limits, forwarding: { v4: true, v6: true } })
    const ranges = [...text.matchAll(/chain (ports_\d+) .* masquerade to :(\d+)-(\d+);/g)]
    expect(ranges).toHaveLength(16)
    let next = 1024
    for (const [, name, first, last] of ranges) {
      expect(Number(first)).toBe(next)
      expect(text.match(new RegExp(`jump ${name}\\b`, 'g'))).toHaveLength(2)
      next = Number(last) + 1
    }
    expect(next).toBe(65_536)
  })
})
