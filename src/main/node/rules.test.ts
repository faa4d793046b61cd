import { describe, expect, test } from 'bun:test'
import { someExit } from '../../../test/harness/desired.ts'
import { readAddress } from '../../kernel/address.ts'
import { createSnapshot } from '../../plane/agent/snapshot.ts'
import { mayReach } from '../../plane/gateway/decide/policy.ts'
import type { NodeExit, NodeRange, StatePage } from '../../wire/node/state.ts'
import { readConfig } from '../settings/config.ts'
import { createRules } from './rules.ts'

const whole = { isWhole: true, isFirst: true, isLast: true }
const change = { isWhole: false, isFirst: false, isLast: true }

const range = (id: number, prefix: string, options: Partial<NodeRange> = {}): NodeRange => ({
  id,
  prefix,
  homes: ['nod_elsewhere'],
  gone: false,
  ...options,
})

const page = (ranges: NodeRange[], exits: NodeExit[] = []): StatePage => ({
  cursor: '',
  more: false,
  now: 1,
  mode: 'production',
  gateways: [],
  ranges,
  proxies: [],
  subusers: [],
  exits,
  peers: [],
})

function open() {
  const rules = createRules(readConfig({}))
  const snapshot = createSnapshot()
  return {
    hear: (told: StatePage, place = change): void => {
      if (place.isFirst) snapshot.beginWhole()
      snapshot.apply(told)
      if (place.isWhole && place.isLast) snapshot.endWhole()
      rules.hear(told, place, snapshot)
    },
    judge: (text: string) => {
      const address = readAddress(text)
      if (!address) throw new Error(`${text} is not an address`)
      return mayReach(address, 443, rules.policy())
    },
  }
}

describe('what a gateway refuses because the shop lists it', () => {
  test('addresses of every range, IPv4 and IPv6, also of ranges that other gateways serve', () => {
    const { hear, judge } = open()
    hear(page([range(1, '45.12.7.0/24'), range(2, '2a0c:bbbb::/32')]), whole)
    for (const own of ['45.12.7.0', '45.12.7.255', '2a0c:bbbb::1', '2a0c:bbbb:ffff::']) {
      expect(judge(own)).toBe('destination_is_ours')
    }
    for (const foreign of ['45.12.6.255', '45.12.8.0', '2a0c:bbba::1', '2a0c:bbbc::']) {
      expect(judge(foreign)).toBeUndefined()
    }
  })

  test('addresses of exits, of this machine and of suppliers; an exit with a name lists no address', () => {
    const { hear, judge } = open()
    const supplier = someExit({ id: 'exit_2', kind: 'http', host: '45.12.9.2', port: 3128 })
    const named = someExit({ id: 'exit_3', kind: 'http', host: 'gate.example', port: 3128 })
    hear(page([], [someExit({ host: '2a0c:cccc::1' }), supplier, named]), whole)
    expect(judge('2a0c:cccc::1')).toBe('destination_is_ours')
    expect(judge('45.12.9.2')).toBe('destination_is_ours')
    expect(judge('45.12.9.3')).toBeUndefined()
  })

  test('nothing that the shop has taken off its list, by a change or by a whole read without it', () => {
    const { hear, judge } = open()
    hear(page([range(1, '45.12.7.0/24'), range(2, '45.12.8.0/24')], [someExit({ host: '45.12.9.1' })]), whole)
    hear(page([range(1, '45.12.7.0/24', { gone: true })], [someExit({ host: '45.12.9.1', drained: true })]))
    expect(['45.12.7.1', '45.12.8.1', '45.12.9.1'].map(judge)).toEqual([undefined, 'destination_is_ours', undefined])
    hear(page([]), whole)
    expect(judge('45.12.8.1')).toBeUndefined()
  })

  test('what stands on the first of two pages as well as what stands on the last', () => {
    const { hear, judge } = open()
    hear(page([range(1, '45.12.7.0/24')]), { ...change, isLast: false })
    hear(page([]))
    expect(judge('45.12.7.1')).toBe('destination_is_ours')
  })
})
