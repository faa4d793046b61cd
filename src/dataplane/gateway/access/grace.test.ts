import { expect, test } from 'bun:test'
import { readAddress, readPrefix } from '../../../core/address.ts'
import { isGraceQuestion, isInGrace, isReachedInGrace } from './grace.ts'
import { type Grace, type Policy, shippedPorts } from './policy.ts'

const prefix = (text: string) => readPrefix(text) ?? expect.unreachable()
const address = (text: string) => readAddress(text) ?? expect.unreachable()
const grace: Grace = {
  hosts: [
    { host: 'shop.example', ports: [443], prefixes: [prefix('45.0.0.1/32')] },
    { host: 'pay.example', ports: [80, 443], prefixes: [] },
  ],
  resolvers: [prefix('1.1.1.1/32')],
}
const mayReach = (host: string, port: number, transport: 'tcp' | 'udp' = 'tcp') =>
  isInGrace({ host, port }, readAddress(host), transport, grace)

test('an ended device reaches the listed hosts, names below them, their addresses and ports, and no other', () => {
  const allowed = ['shop.example', 'SHOP.example.', 'www.pay.example', '45.0.0.1', '::ffff:45.0.0.1']
  expect(allowed.filter((host) => !mayReach(host, 443))).toEqual([])
  const denied = ['example', 'xshop.example', 'shop.example.net', '45.0.0.2', '1.1.1.1', '']
  expect(denied.filter((host) => mayReach(host, 443))).toEqual([])
  expect([mayReach('shop.example', 80), mayReach('pay.example', 80)]).toEqual([false, true])
  expect(isInGrace({ host: 'shop.example', port: 443 }, undefined, 'tcp', undefined)).toBe(false)
})

test('an ended device sends datagrams to port 53 of the listed resolvers only', () => {
  expect(mayReach('1.1.1.1', 53, 'udp')).toBe(true)
  expect([mayReach('1.1.1.1', 443, 'udp'), mayReach('8.8.8.8', 53, 'udp'), mayReach('1.1.1.1', 53)]).toEqual([
    false,
    false,
    false,
  ])
})

/** A query for the A record of a name. */
function question(name: string, counts = [0, 1]): Uint8Array {
  const labels = name.split('.').flatMap((label) => [label.length, ...Buffer.from(label)])
  return Uint8Array.from([0, 1, 1, 0, ...counts, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, 1, 0, 1])
}

test('isGraceQuestion accepts one question for a listed host, and no other datagram', () => {
  expect(isGraceQuestion(question('pay.Example'), grace)).toBe(true)
  expect(isGraceQuestion(question('api.pay.example'), grace)).toBe(true)
  expect(isGraceQuestion(question('tunnel.example'), grace)).toBe(false)
  expect(isGraceQuestion(question('pay.example', [0, 2]), grace)).toBe(false)
  const answer = question('pay.example')
  answer[2] = 0x81
  expect(isGraceQuestion(answer, grace)).toBe(false)
  const whole = question('pay.example')
  for (let length = 0; length < whole.length - 5; length += 1)
    expect(isGraceQuestion(whole.subarray(0, length), grace)).toBe(false)
})

test('a listed name that resolves to a private address is not reached, and loopback only in a sandbox', () => {
  const policy = (allowLoopback: boolean): Policy => ({
    allowLoopback,
    ownAddresses: [prefix('45.0.0.1/32')],
    denyPrefixes: [],
    denyNames: new Set(),
    ports: shippedPorts,
  })
  expect(isReachedInGrace(address('45.0.0.1'), policy(false))).toBe(true)
  expect(isReachedInGrace(address('10.0.0.1'), policy(true))).toBe(false)
  expect([true, false].map((isSandbox) => isReachedInGrace(address('127.0.0.1'), policy(isSandbox)))).toEqual([
    true,
    false,
  ])
})
