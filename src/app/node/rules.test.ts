import { describe, expect, test } from 'bun:test'
import { someExit } from '../../../test/harness/desired.ts'
import { readAddress } from '../../core/address.ts'
import { Snapshot } from '../../dataplane/agent/snapshot.ts'
import { mayReach } from '../../dataplane/gateway/access/policy.ts'
import { noLimit } from '../../dataplane/gateway/metering/speed-limit.ts'
import type { NodeExit, NodeGateway, NodeRange, StatePage } from '../../node-protocol/state.ts'
import { readConfig } from '../settings/config.ts'
import { GatewayRules } from './rules.ts'

const whole = { isWhole: true, isFirst: true, isLast: true }
const change = { isWhole: false, isFirst: false, isLast: true }

const range = (id: number, prefix: string, options: Partial<NodeRange> = {}): NodeRange => ({
  id,
  prefix,
  node_ids: ['nod_elsewhere'],
  gone: false,
  ...options,
})

const gateway = (id: string, host: string, state: NodeGateway['state'] = 'open'): NodeGateway => ({
  id,
  name: id,
  host,
  port: 7777,
  key: '',
  state,
})

const page = (ranges: NodeRange[], exits: NodeExit[] = [], gateways: NodeGateway[] = []): StatePage => ({
  cursor: '',
  more: false,
  now: 1,
  mode: 'production',
  gateways,
  ranges,
  proxies: [],
  subusers: [],
  exits,
  peers: [],
})

/** Names and their addresses; a test may change them. */
const names = new Map<string, string[]>()
async function lookup(name: string): Promise<string[]> {
  return names.get(name) ?? Promise.reject(new Error(`${name} is not known`))
}

function open(shopUrl = 'unix:/run/shop.sock') {
  const rules = new GatewayRules(readConfig({}), shopUrl, lookup)
  const snapshot = new Snapshot()
  return {
    rules,
    applyPage: (given: StatePage, position = change): void => {
      if (position.isFirst) snapshot.beginWhole()
      snapshot.apply(given)
      if (position.isWhole && position.isLast) snapshot.endWhole()
      rules.apply(given, position, snapshot)
    },
    refusalOf: (text: string) => {
      const address = readAddress(text)
      if (!address) throw new Error(`${text} is not an address`)
      return mayReach(address, 443, rules.policy)
    },
  }
}

describe('the egress policy of a gateway', () => {
  test('a gateway refuses addresses of every range, IPv4 and IPv6, also of other gateways’ ranges', () => {
    const { applyPage, refusalOf } = open()
    applyPage(page([range(1, '45.12.7.0/24'), range(2, '2a0c:bbbb::/32')]), whole)
    for (const own of ['45.12.7.0', '45.12.7.255', '2a0c:bbbb::1', '2a0c:bbbb:ffff::']) {
      expect(refusalOf(own)).toBe('destination_is_ours')
    }
    for (const foreign of ['45.12.6.255', '45.12.8.0', '2a0c:bbba::1', '2a0c:bbbc::']) {
      expect(refusalOf(foreign)).toBeUndefined()
    }
  })

  test('a gateway refuses addresses of its own and of suppliers’ exits; an exit with a name adds no address', () => {
    const { applyPage, refusalOf } = open()
    const supplier = someExit({ id: 'exit_2', kind: 'http', host: '45.12.9.2', port: 3128 })
    const named = someExit({ id: 'exit_3', kind: 'http', host: 'gate.example', port: 3128 })
    applyPage(page([], [someExit({ host: '2a0c:cccc::1' }), supplier, named]), whole)
    expect(refusalOf('2a0c:cccc::1')).toBe('destination_is_ours')
    expect(refusalOf('45.12.9.2')).toBe('destination_is_ours')
    expect(refusalOf('45.12.9.3')).toBeUndefined()
  })

  test('a gateway allows an address that the shop has removed, by a change or by a whole state without it', () => {
    const { applyPage, refusalOf } = open()
    applyPage(page([range(1, '45.12.7.0/24'), range(2, '45.12.8.0/24')], [someExit({ host: '45.12.9.1' })]), whole)
    applyPage(page([range(1, '45.12.7.0/24', { gone: true })], [someExit({ host: '45.12.9.1', drained: true })]))
    expect(['45.12.7.1', '45.12.8.1', '45.12.9.1'].map(refusalOf)).toEqual([
      undefined,
      'destination_is_ours',
      undefined,
    ])
    applyPage(page([]), whole)
    expect(refusalOf('45.12.8.1')).toBeUndefined()
  })

  test('a gateway refuses addresses of the first of two pages', () => {
    const { applyPage, refusalOf } = open()
    applyPage(page([range(1, '45.12.7.0/24')]), { ...change, isLast: false })
    applyPage(page([]))
    expect(refusalOf('45.12.7.1')).toBe('destination_is_ours')
  })

  test('a gateway refuses other gateways’ addresses in both families until the shop removes them', async () => {
    names.set('gate-3.example', ['45.12.3.1', '2a0c:dddd::3'])
    const { applyPage, refusalOf, rules } = open()
    const fleet = [gateway('nod_1', '45.12.1.1'), gateway('nod_2', '2a0c:dddd::2'), gateway('nod_3', 'gate-3.example')]
    applyPage(page([], [], fleet), whole)
    await rules.lookAround()
    const all = ['45.12.1.1', '::ffff:45.12.1.1', '2a0c:dddd::2', '45.12.3.1', '2a0c:dddd::3']
    expect(all.map(refusalOf)).toEqual(all.map(() => 'destination_is_ours'))
    applyPage(page([], [], [gateway('nod_1', '45.12.1.1', 'gone')]))
    expect([refusalOf('45.12.1.1'), refusalOf('2a0c:dddd::2')]).toEqual([undefined, 'destination_is_ours'])
  })

  test.each([
    ['https://45.12.4.1:8443/', '45.12.4.1'],
    ['https://[2a0c:dddd::4]/', '2a0c:dddd::4'],
    ['https://shop.example/', '45.12.4.2'],
    ['https://shop.example/', '2a0c:dddd::5'],
  ])('a gateway refuses the machine of a shop at %s, whose address is %s', async (url, address) => {
    names.set('shop.example', ['45.12.4.2', '2a0c:dddd::5'])
    const { applyPage, refusalOf, rules } = open(url)
    await rules.lookAround()
    applyPage(page([]), whole)
    expect(refusalOf(address)).toBe('destination_is_ours')
    expect(refusalOf('45.12.4.3')).toBeUndefined()
  })

  test('a gateway refuses the last known addresses of a name that does not resolve, and then the new ones', async () => {
    names.set('shop.example', ['45.12.4.2'])
    const { refusalOf, rules } = open('https://shop.example/')
    await rules.lookAround()
    names.delete('shop.example')
    await rules.lookAround()
    expect(refusalOf('45.12.4.2')).toBe('destination_is_ours')
    names.set('shop.example', ['45.12.4.9'])
    await rules.lookAround()
    expect(['45.12.4.2', '45.12.4.9'].map(refusalOf)).toEqual([undefined, 'destination_is_ours'])
  })

  test('a sandbox gateway allows loopback, where its shop and gateway listen', async () => {
    const { applyPage, refusalOf, rules } = open('http://127.0.0.1:8080/')
    applyPage({ ...page([], [], [gateway('nod_1', '127.0.0.1')]), mode: 'sandbox' }, whole)
    await rules.lookAround()
    expect(refusalOf('127.0.0.1')).toBeUndefined()
  })
})

test('a process with a quarter of the speed limits applies it to limits that the shop changes later, and to no missing limit', () => {
  const { rules, applyPage } = open()
  rules.setSpeedShare(0.25)
  expect(rules.speeds).toEqual({ ...noLimit, share: 0.25 })
  applyPage({ ...page([]), speed_mbit: { proxies: 8, subusers: null } }, whole)
  const { speeds } = rules
  expect(speeds).toEqual({ proxy: 250_000, subuser: Number.POSITIVE_INFINITY, share: 0.25 })
  applyPage({ ...page([]), speed_mbit: { proxies: 8, subusers: null } })
  expect(rules.speeds).toBe(speeds)
  rules.setSpeedShare(1)
  expect(rules.speeds.proxy).toBe(1_000_000)
})
