import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { addressFromNumber, contains, readPrefix, withoutNested } from '../../core/address.ts'
import { classify, specialPrefixes } from '../../core/reserved.ts'
import { readTunnelAddress } from './desired.ts'
import { toRuleset } from './firewall.ts'

const networks = ['10.66.0.1/16', 'fd74:7572:6e70::1/64'].flatMap((text) => readTunnelAddress(text) ?? [])

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
    const host = toRuleset({ device: 'tpvpn0', networks, forwarding: { v4: false, v6: false } })
    expect(host.match(/did not forward before/g)).toHaveLength(2)
    const router = toRuleset({ device: 'tpvpn0', networks, forwarding: { v4: true, v6: undefined } })
    expect(router).not.toContain('did not forward before')
  })

  test('toRuleset names only the table turnpike_vpn_tp_vpn0 and does not flush the ruleset', () => {
    const text = toRuleset({ device: 'tp-vpn0', networks, forwarding: { v4: true, v6: true } })
    expect([...text.matchAll(/table inet (\S+)/g)].map(([, name]) => name)).toEqual(
      Array(3).fill('turnpike_vpn_tp_vpn0'),
    )
    expect(text).not.toContain('flush ruleset')
  })
})
