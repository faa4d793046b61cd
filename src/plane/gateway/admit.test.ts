import { expect, test } from 'bun:test'
import type { NodeProxy } from '../../wire/node/state.ts'
import { createSnapshot } from '../agent/snapshot.ts'
import { admitByPassword, type Moment, standing } from './admit.ts'

const sha256 = (text: string): Uint8Array => Bun.SHA256.hash(text) as Uint8Array
const expiresAt = 1_000_000_000
const seconds = 1000
const minutes = 60 * seconds

const proxy: NodeProxy = {
  id: 1,
  username: 'u1',
  digest: Buffer.from(sha256('secret')).toString('hex'),
  port_type: 'http',
  leave_from: '127.0.0.2',
  expires_at: expiresAt,
  state: 'active',
  owner: '0123456789abcdef',
}

/** How a proxy that expired so long ago fares, with the shop last heard so long ago: at the door, and through an open tunnel. */
function fare(expiredMs: number, silentMs: number): [door: string, tunnel: string] {
  const snapshot = createSnapshot()
  snapshot.apply({ proxies: [proxy], subusers: [], exits: [] })
  const at: Moment = { nowMs: expiresAt + expiredMs, contactMs: expiresAt + expiredMs - silentMs }
  const verdict = admitByPassword(snapshot, { username: 'u1', password: 'secret' }, 'http', at, sha256)
  const open = standing({ kind: 'dedicated', key: 'proxy u1', proxy, protocol: 'http' }, snapshot, at)
  return ['refusal' in verdict ? verdict.refusal : 'let in', open ?? 'goes on']
}

test('with the shop in contact a proxy ends on the millisecond at which it expires', () => {
  expect(fare(-1, 0)).toEqual(['let in', 'goes on'])
  expect(fare(0, 0)).toEqual(['expired', 'expired'])
  expect(fare(0, 10 * seconds)).toEqual(['expired', 'expired'])
})

test('out of contact, what has expired is served for five minutes past the last word of the shop and no longer', () => {
  expect(fare(0, 11 * seconds)).toEqual(['let in', 'goes on'])
  expect(fare(4 * minutes, 5 * minutes - 1)).toEqual(['let in', 'goes on'])
  expect(fare(4 * minutes, 5 * minutes)).toEqual(['expired', 'expired'])
  expect(fare(1, 60 * minutes)).toEqual(['expired', 'expired'])
})

test('out of contact for long, what has not expired goes on being served', () => {
  expect(fare(-1, 60 * minutes)).toEqual(['let in', 'goes on'])
})
