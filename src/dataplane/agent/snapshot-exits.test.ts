import { expect, test } from 'bun:test'
import { createHash, createHmac } from 'node:crypto'
import { hmacSha256 } from '../../adapters/crypto.ts'
import { keysOfExit, loginOfExit, toEntrySecret, toExitsSecret } from '../../core/device-exits.ts'
import type { NodeDevice, NodeGateway } from '../../node-protocol/state.ts'
import { Snapshot } from './snapshot.ts'

const sha = (text: string): string => createHash('sha256').update(text).digest('hex')
const gateway = (id: string, entry: string | null = null): NodeGateway => ({
  id,
  name: id,
  host: '192.0.2.1',
  port: 443,
  key: '',
  entry,
  state: 'open',
})
const secret = toEntrySecret(hmacSha256, toExitsSecret(hmacSha256, 'a password'), 'nod_entry')
const device: NodeDevice = {
  id: 'dev_1',
  vless: sha('vless'),
  trojan: sha('trojan'),
  password: sha('a password'),
  state: 'up',
  expires_at: 1,
  speed_mbit: null,
  exit_secret: secret,
  owner: '0'.repeat(16),
}
const page = (gateways: NodeGateway[], devices: NodeDevice[] = []) => ({
  proxies: [],
  subusers: [],
  exits: [],
  gateways,
  devices,
})
const keysFor = (exit: string) => keysOfExit(hmacSha256, secret, exit)
const findBy = (snapshot: Snapshot, exit: string) => {
  const { uuid, password } = keysFor(exit)
  const trojan = sha(createHash('sha224').update(password).digest('hex'))
  const login = snapshot.findDeviceOfLogin(loginOfExit('dev_1', exit))
  return [
    snapshot.findDevice('vless', sha(uuid))?.exit,
    snapshot.findDevice('trojan', trojan)?.exit,
    snapshot.findDeviceOfPath(`/${sha(uuid).slice(0, 32)}`)?.exit,
    login?.password === sha(password) ? login.exit : undefined,
  ]
}
const none = [undefined, undefined, undefined, undefined]

test('a device has keys for each gateway whose customers enter here, and loses them when the path ends', () => {
  const snapshot = new Snapshot('nod_entry')
  snapshot.apply(page([gateway('nod_entry', 'nod_entry'), gateway('nod_a', 'nod_entry'), gateway('nod_b')], [device]))
  expect(findBy(snapshot, 'nod_a')).toEqual(['nod_a', 'nod_a', 'nod_a', 'nod_a'])
  expect(findBy(snapshot, 'nod_b')).toEqual(none)
  snapshot.apply(page([gateway('nod_b', 'nod_entry')]))
  expect(findBy(snapshot, 'nod_b')).toEqual(['nod_b', 'nod_b', 'nod_b', 'nod_b'])
  snapshot.forget({ gateways: ['nod_a'] })
  expect([findBy(snapshot, 'nod_a'), snapshot.isExitBehind('nod_a')]).toEqual([none, false])
  expect(snapshot.findDevice('vless', sha('vless'))).toMatchObject({ device, exit: undefined })
  snapshot.apply(page([], [{ ...device, state: 'gone' }]))
  expect([findBy(snapshot, 'nod_b'), snapshot.findDeviceOfLogin('dev_1')]).toEqual([none, undefined])
})

test('keys for an exit are HMAC-SHA-256 of the secret of one entry, which says nothing of those of another', () => {
  const bytes = createHmac('sha256', Buffer.from(secret, 'hex')).update('uuid nod_a').digest()
  expect(keysFor('nod_a').uuid.replaceAll('-', '').slice(0, 12)).toBe(bytes.toString('hex').slice(0, 12))
  expect(keysFor('nod_a').uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(keysFor('nod_a').password).toMatch(/^[0-9a-hjkmnp-tv-z]{32}$/)
  const other = toEntrySecret(hmacSha256, toExitsSecret(hmacSha256, 'a password'), 'nod_other')
  const all = [keysFor('nod_a'), keysFor('nod_b'), keysOfExit(hmacSha256, other, 'nod_a')].flatMap(Object.values)
  expect(new Set(all).size).toBe(6)
})
