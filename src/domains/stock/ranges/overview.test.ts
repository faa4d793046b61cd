import { expect, test } from 'bun:test'
import { reasonsOf } from './overview.ts'
import type { JudgedTrial } from './rules.ts'

const trialOf = (problems: JudgedTrial['problems']): JudgedTrial => ({
  range: 1,
  node: 'node_1',
  served: [],
  problems,
  seenAs: null,
  changedAt: 0,
  provenFrom: null,
  provenAt: null,
  proofUntil: 0,
  proof: 'given',
})
const oneOf = (problem: string, first: number, count: number) => trialOf([{ first, count, problem }])

test('reasonsOf names the addresses that a machine lacks and the command that sets them up', () => {
  expect(reasonsOf(oneOf('not_on_this_machine', 7, 1), '203.0.113.0/24', 'gate-1')).toEqual([
    '203.0.113.7 is not on this machine: run "turnpike range setup 203.0.113.0/24" on gate-1',
  ])
  const runs = [
    { first: 3, count: 2, problem: 'not_on_this_machine' },
    { first: 9, count: 4, problem: 'not_on_this_machine' },
  ]
  expect(reasonsOf(trialOf(runs), '2001:db8::/120', 'gate-1')).toEqual([
    '2001:db8::3 and 5 more are not on this machine: run "turnpike range setup 2001:db8::/120" on gate-1',
  ])
})

test('reasonsOf names the addresses that a listener on one address does not cover, and the setting to change', () => {
  expect(reasonsOf(oneOf('not_listened_on', 8, 3), '203.0.113.0/24', 'gate-1')).toEqual([
    'customers cannot connect to 203.0.113.8 and 2 more: the gateway listens on another address only. ' +
      'Set TURNPIKE_GATEWAY_LISTEN=:: on gate-1, and restart it',
  ])
})

test('reasonsOf names an IPv6 block as a whole, because a gateway tries samples of it', () => {
  expect(reasonsOf(oneOf('not_on_this_machine', 0, 1), '2001:db8::/48', 'gate-1')).toEqual([
    'addresses of 2001:db8::/48 are not on this machine: run "turnpike range setup 2001:db8::/48" on gate-1',
  ])
})

test('reasonsOf says what to check when the shop cannot be called from an address, or its family is off', () => {
  expect(reasonsOf(oneOf('cannot_leave', 1, 1), '203.0.113.0/24', 'gate-1')).toEqual([
    '203.0.113.1 cannot leave: no call from there reaches the shop. Check that your provider routes 203.0.113.0/24 ' +
      'to gate-1, and run "turnpike range setup 203.0.113.0/24" there',
  ])
  expect(reasonsOf(oneOf('no_such_family', 0, 1), '2001:db8::/64', 'gate-1')).toEqual([
    'addresses of 2001:db8::/64 cannot be used: IPv6 is switched off on gate-1',
  ])
})

test('reasonsOf names the record or the route that an egress check over IPv6 lacks', () => {
  expect(reasonsOf(oneOf('egress_not_checked_no_shop_address', 0, 1), '2001:db8::/48', 'gate-1')).toEqual([
    'egress not checked: the host of TURNPIKE_PUBLIC_URL has no IPv6 address (no AAAA record in DNS)',
  ])
  expect(reasonsOf(oneOf('egress_not_checked_no_route', 0, 4), '2001:db8::/126', 'gate-1')).toEqual([
    '4 egress not checked: the gateway’s machine has no IPv6 route to the shop',
  ])
})
