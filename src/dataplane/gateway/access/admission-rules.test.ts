import { describe, expect, test } from 'bun:test'
import { sha256, someProxy, someSubuser } from '../../../../test/harness/desired.ts'
import type { NodeProxy, NodeSubuser } from '../../../node-protocol/state.ts'
import { Snapshot } from '../../agent/snapshot.ts'
import {
  type Access,
  type AdmissionVerdict,
  accessRefusal,
  admitByPassword,
  admitBySource,
  hasExpired,
  type Proven,
  poolOf,
} from './admission.ts'

const at = { nowMs: 500_000, lastContactAt: 500_000 }

function snapshotOf(known: { proxies?: NodeProxy[]; subusers?: NodeSubuser[] }) {
  const snapshot = new Snapshot()
  snapshot.apply({ proxies: [], subusers: [], exits: [], ...known })
  return snapshot
}

function accessOf(verdict: AdmissionVerdict): Access {
  if ('refusal' in verdict) throw new Error(`refused: ${verdict.refusal}`)
  return verdict.access
}

/** One object per pair, as a reader returns it: verified pairs are cached by object. */
const pairs = new Map<string, { username: string; password: string }>()
const proven: Proven = new WeakMap()

function byPassword(
  snapshot: Snapshot,
  username: string,
  password = 'secret',
  protocol: 'http' | 'socks' = 'http',
): AdmissionVerdict {
  const pair = pairs.get(`${username}:${password}`) ?? { username, password }
  pairs.set(`${username}:${password}`, pair)
  return admitByPassword(snapshot, pair, protocol, at, sha256, proven)
}

describe('a verified pair of name and password', () => {
  const known = (proxy: NodeProxy = someProxy()) => snapshotOf({ proxies: [proxy] })

  test('admitByPassword does not hash a verified pair again until a page replaces its proxy', () => {
    const snapshot = known()
    let hashes = 0
    const hash = (text: string) => {
      hashes += 1
      return sha256(text)
    }
    const pair = { username: 'tp1abcd', password: 'secret' }
    const own: Proven = new WeakMap()
    const first = admitByPassword(snapshot, pair, 'http', at, hash, own)
    expect(admitByPassword(snapshot, pair, 'http', at, hash, own)).toEqual(first)
    expect(hashes).toBe(1)
    snapshot.apply({ proxies: [someProxy()], subusers: [], exits: [] })
    expect(admitByPassword(snapshot, pair, 'http', at, hash, own)).toEqual(first)
    expect(hashes).toBe(2)
  })

  test('admitByPassword refuses a verified pair with bad_credentials after the password changes', () => {
    const snapshot = known()
    expect(byPassword(snapshot, 'tp1abcd')).toMatchObject({ access: { kind: 'dedicated' } })
    const digest = Buffer.from(sha256('another')).toString('hex')
    snapshot.apply({ proxies: [{ ...someProxy(), digest }], subusers: [], exits: [] })
    expect(byPassword(snapshot, 'tp1abcd')).toEqual({ refusal: 'bad_credentials' })
    expect(byPassword(snapshot, 'tp1abcd', 'another')).toMatchObject({ access: { kind: 'dedicated' } })
  })

  test('admitByPassword refuses a verified pair in another protocol, and after its proxy is blocked or removed', () => {
    const snapshot = known()
    expect(byPassword(snapshot, 'tp1abcd')).toMatchObject({ access: { kind: 'dedicated' } })
    expect(byPassword(snapshot, 'tp1abcd', 'secret', 'socks')).toEqual({ refusal: 'wrong_protocol' })
    snapshot.apply({ proxies: [{ ...someProxy(), state: 'blocked' }], subusers: [], exits: [] })
    expect(byPassword(snapshot, 'tp1abcd')).toEqual({ refusal: 'blocked' })
    snapshot.forget({ proxies: ['tp1abcd'] })
    expect(byPassword(snapshot, 'tp1abcd')).toEqual({ refusal: 'bad_credentials' })
  })
})

describe('admission to a dedicated proxy', () => {
  const snapshot = snapshotOf({ proxies: [someProxy()] })

  test('a dedicated proxy admits a client with its name and password in its protocol', () => {
    expect(byPassword(snapshot, 'tp1abcd')).toMatchObject({ access: { kind: 'dedicated', proxy: { id: 1 } } })
  })

  test.each([
    ['a wrong password', 'tp1abcd', 'Secret'],
    ['no password', 'tp1abcd', ''],
    ['an unknown name', 'tp1abce', 'secret'],
    ['a name in other letters', 'TP1ABCD', 'secret'],
    ['a name with a login’s parts', 'tp1abcd-country-de', 'secret'],
    ['no name', '', 'secret'],
    ['the digest in place of the password', 'tp1abcd', someProxy().digest],
  ])('a dedicated proxy refuses %s with bad_credentials', (_, username, password) => {
    expect(byPassword(snapshot, username, password)).toEqual({ refusal: 'bad_credentials' })
  })

  test.each([
    ['blocked', { state: 'blocked' }, 'http'],
    ['withdrawn', { state: 'blocked', withdrawn: true }, 'http'],
    ['expired', { expires_at: at.nowMs }, 'http'],
    ['wrong_protocol', {}, 'socks'],
    ['wrong_protocol', { port_type: 'socks' }, 'http'],
    ['bad_credentials', { state: 'gone' }, 'http'],
  ] as const)(
    'a dedicated proxy answers %s to the right password and bad_credentials to a wrong one',
    (refusal, change, protocol) => {
      const changed = snapshotOf({ proxies: [someProxy(change)] })
      expect(byPassword(changed, 'tp1abcd', 'secret', protocol)).toEqual({ refusal })
      expect(byPassword(changed, 'tp1abcd', 'wrong', protocol)).toEqual({ refusal: 'bad_credentials' })
    },
  )

  test('a dedicated proxy with port_type=both accepts HTTP and SOCKS5', () => {
    const both = snapshotOf({ proxies: [someProxy({ port_type: 'both' })] })
    for (const protocol of ['http', 'socks'] as const) {
      expect(byPassword(both, 'tp1abcd', 'secret', protocol)).toMatchObject({ access: { protocol } })
    }
  })

  const open = { sources: ['192.0.2.7', '2001:db8::7'], entry_port: 21_000 }
  const bySource = (of: Snapshot, source: string, to = 21_000) => admitBySource(of, source, to, 'http', at)

  test('a looked-up proxy that has ended answers expired to its password, and its port admits no source', () => {
    const ended = snapshotOf({ proxies: [] })
    ended.learn({ proxy: someProxy({ ...open, state: 'gone' }), subuser: null })
    expect(byPassword(ended, 'tp1abcd')).toEqual({ refusal: 'expired' })
    expect(byPassword(ended, 'tp1abcd', 'wrong')).toEqual({ refusal: 'bad_credentials' })
    expect(bySource(ended, '192.0.2.7')).toEqual({ refusal: 'credentials_required' })
    expect(ended.ports.size).toBe(0)
  })

  test('a dedicated proxy admits only its 2 source addresses at port 21000, and requires credentials from others', () => {
    const entered = snapshotOf({ proxies: [someProxy(open)] })
    for (const source of ['192.0.2.7', '::ffff:192.0.2.7', '2001:db8::7']) {
      expect(bySource(entered, source)).toMatchObject({ access: { kind: 'dedicated', source } })
    }
    for (const source of ['192.0.2.8', '2001:db8::8', '', 'nonsense']) {
      expect(bySource(entered, source)).toEqual({ refusal: 'credentials_required' })
    }
    expect(bySource(entered, '192.0.2.7', 21_001)).toEqual({ refusal: 'credentials_required' })
  })

  test.each([
    [undefined, { digest: 'f'.repeat(64) }],
    ['bad_credentials', { sources: ['192.0.2.8'] }],
    ['expired', { state: 'gone' }],
    ['blocked', { state: 'blocked' }],
    ['wrong_protocol', { port_type: 'socks' }],
  ] as const)('accessRefusal gives %s for a client admitted by source address after the change', (refusal, change) => {
    const one = snapshotOf({ proxies: [someProxy(open)] })
    const access = accessOf(bySource(one, '192.0.2.7'))
    one.apply({ proxies: [{ ...someProxy(open), ...change } as NodeProxy], subusers: [], exits: [] })
    expect(accessRefusal(access, one, at)).toBe(refusal as never)
  })

  test.each([
    ['expired', { state: 'gone' }],
    ['bad_credentials', { digest: 'f'.repeat(64) }],
    ['blocked', { state: 'blocked' }],
    ['expired', { expires_at: at.nowMs - 1 }],
    ['wrong_protocol', { port_type: 'socks' }],
    ['address_unavailable', { leave_from: '127.0.0.2' }],
    [undefined, { expires_at: 2_000_000 }],
    [undefined, { owner: 'fedcba9876543210' }],
  ] as const)('accessRefusal gives %s for a client admitted by password after the change', (refusal, change) => {
    const one = snapshotOf({ proxies: [someProxy()] })
    const access = accessOf(byPassword(one, 'tp1abcd'))
    expect(accessRefusal(access, one, at)).toBeUndefined()
    one.apply({ proxies: [someProxy(change)], subusers: [], exits: [] })
    expect(accessRefusal(access, one, at)).toBe(refusal as never)
  })
})

describe('admission of a premium sub-user', () => {
  const port = { port: 20_001, login: 'u7k2m9x4qa-pool-residential-country-de' }
  const listed = { whitelist: ['192.0.2.7', '198.51.100.0/24', '2001:db8::/56'], ports: [port] }
  const snapshot = snapshotOf({ subusers: [someSubuser(listed)] })

  test('a sub-user is admitted by login and password with login parameters, in HTTP and SOCKS5', () => {
    for (const protocol of ['http', 'socks'] as const) {
      const verdict = byPassword(snapshot, 'U7K2M9X4QA-country-us-session-a1', 'secret', protocol)
      expect(verdict).toMatchObject({ access: { kind: 'premium', login: { countries: ['us'] }, source: undefined } })
    }
  })

  test.each([
    ['u7k2m9x4qa-country', 'login_part'],
    ['u7k2m9x4qa-planet-mars', 'login_part'],
    ['u7k2m9x4qa-ttl-5', 'login_ttl'],
    ['u7k2m9x4qb', 'bad_credentials'],
    ['u7k2m9x4qa-', 'login_part'],
  ] as const)('the login %s with the right password is refused with %s', (username, refusal) => {
    expect(byPassword(snapshot, username)).toEqual({ refusal })
    expect(byPassword(snapshot, username, 'wrong')).toEqual({ refusal: 'bad_credentials' })
  })

  test('a whitelisted source address is admitted at the port of the sub-user, in each notation', () => {
    for (const source of ['192.0.2.7', '::ffff:192.0.2.7', '198.51.100.255', '2001:db8:0:ff::1']) {
      expect(admitBySource(snapshot, source, port.port, 'http', at)).toMatchObject({
        access: { kind: 'premium', login: { pool: 'residential', countries: ['de'] }, source },
      })
    }
  })

  test.each([
    ['192.0.2.8', port.port],
    ['198.51.101.0', port.port],
    ['2001:db8:0:100::1', port.port],
    ['::c000:207', port.port],
    ['192.0.2.7', port.port + 1],
    ['', port.port],
    ['nonsense', port.port],
  ])('a client from %s at port %d is refused with credentials_required', (source, to) => {
    expect(admitBySource(snapshot, source, to, 'http', at)).toEqual({ refusal: 'credentials_required' })
  })

  test('a blocked sub-user answers blocked to right credentials and bad_credentials to a wrong password', () => {
    const blocked = snapshotOf({ subusers: [someSubuser({ ...listed, state: 'blocked' })] })
    expect(byPassword(blocked, 'u7k2m9x4qa')).toEqual({ refusal: 'blocked' })
    expect(byPassword(blocked, 'u7k2m9x4qa', 'wrong')).toEqual({ refusal: 'bad_credentials' })
    expect(admitBySource(blocked, '192.0.2.7', port.port, 'http', at)).toEqual({ refusal: 'blocked' })
  })

  test.each([
    ['a new password ends connections with the old one', { digest: 'f'.repeat(64) }, 'bad_credentials', undefined],
    [
      'a shorter whitelist ends connections from removed addresses',
      { whitelist: ['192.0.2.8'] },
      undefined,
      'bad_credentials',
    ],
    ['a block ends connections of both kinds', { state: 'blocked' }, 'blocked', 'blocked'],
    ['removal ends connections of both kinds', { state: 'deleted' }, 'bad_credentials', 'bad_credentials'],
    ['other changes end no connection', { keep_hosts: false, tunnels: 1, pools: [] }, undefined, undefined],
  ] as const)('accessRefusal after a change of a sub-user: %s', (_, change, ofPassword, ofSource) => {
    const one = snapshotOf({ subusers: [someSubuser(listed)] })
    const withPassword = accessOf(byPassword(one, 'u7k2m9x4qa'))
    const fromAddress = accessOf(admitBySource(one, '192.0.2.7', port.port, 'http', at))
    const changed = { ...someSubuser(listed), ...change } as NodeSubuser
    one.apply({ proxies: [], subusers: [changed], exits: [] })
    expect(accessRefusal(withPassword, one, at)).toBe(ofPassword as never)
    expect(accessRefusal(fromAddress, one, at)).toBe(ofSource as never)
  })

  test.each([
    ['the pool that the login names', '-pool-mobile', { residential: 9, mobile: 0 }, { pool: 'mobile' }],
    ['the only pool with traffic', '', { residential: 0, mobile: 9 }, { pool: 'mobile' }],
    [
      'the only pool, also with 0 bytes left, because the count is a hint',
      '',
      { residential: 0 },
      { pool: 'residential' },
    ],
    ['neither of two pools with traffic', '', { residential: 1, mobile: 1 }, { refusal: 'pool_required' }],
    ['neither of two empty pools', '', { residential: 0, mobile: 0 }, { refusal: 'traffic_exhausted' }],
    ['no pool without any', '', {}, { refusal: 'traffic_exhausted' }],
  ])('a login uses %s', (_, parts, left, expected) => {
    const pools = Object.entries(left).map(([pool, bytes]) => ({ pool, left: bytes ?? 0 }))
    const access = accessOf(byPassword(snapshotOf({ subusers: [someSubuser({ pools })] }), `u7k2m9x4qa${parts}`))
    if (access.kind !== 'premium') throw new Error('not premium')
    expect(poolOf(access)).toEqual(expected as never)
  })
})

describe('hasExpired', () => {
  const expiresAt = 1_000_000
  const minute = 60_000
  const isOver = (afterMs: number, silentMs: number) =>
    hasExpired(expiresAt, { nowMs: expiresAt + afterMs, lastContactAt: expiresAt + afterMs - silentMs })

  test('hasExpired is exact to the millisecond while the last contact with the shop is at most 10 s old', () => {
    for (const silentMs of [0, 1000, 10_000]) {
      expect(isOver(-1, silentMs)).toBeFalse()
      expect(isOver(0, silentMs)).toBeTrue()
    }
  })

  test('an expired credential is served for less than 5 minutes without contact with the shop', () => {
    expect(isOver(0, 10_001)).toBeFalse()
    expect(isOver(minute, minute)).toBeFalse()
    expect(isOver(5 * minute - 1, 5 * minute - 1)).toBeFalse()
    expect(isOver(5 * minute, 5 * minute)).toBeTrue()
    expect(isOver(1, 5 * minute)).toBeTrue()
    expect(isOver(-1, 60 * minute)).toBeFalse()
  })
})

test('admitByPassword names a wrong part of a login with the right password, and no part with a wrong one', () => {
  const snapshot = snapshotOf({ subusers: [someSubuser({ login: 'alice' })] })
  const wrong = {
    login_part: ['alice-planet-mars', 'alice-country', 'ALICE-country-de--', `alice-city-${'a'.repeat(250)}`],
    login_pool: ['alice-pool-9'],
    login_country: ['alice-country-usa', 'alice-country-de-country-fr'],
    login_state: ['alice-state-a_b'],
    login_city: ['alice-city-a.a'],
    login_zip: ['alice-zip-1234567890123'],
    login_asn: ['alice-asn-0'],
    login_session: ['alice-session-a_b'],
    login_ttl: ['alice-ttl-5', 'alice-session-a-ttl-0'],
  }
  for (const [refusal, usernames] of Object.entries(wrong)) {
    for (const username of usernames) {
      expect(byPassword(snapshot, username)).toEqual({ refusal: refusal as never })
      expect(byPassword(snapshot, username, 'wrong')).toEqual({ refusal: 'bad_credentials' })
      expect(byPassword(snapshot, username.replace(/^alice/i, 'boris'))).toEqual({ refusal: 'bad_credentials' })
    }
  }
  expect(byPassword(snapshot, 'alice country-de')).toEqual({ refusal: 'bad_credentials' })
})
