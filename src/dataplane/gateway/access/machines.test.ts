import { expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { sha256 } from '../../../../test/harness/desired.ts'
import { placeLastsMs, placeReportMs } from '../../../core/device-places.ts'
import type { ProvenPlace } from '../../agent/places.ts'
import type { Claim } from '../ways-in/request.ts'
import type { Access } from './admission.ts'
import { Machines, placeOf } from './machines.ts'

type DeviceAccess = Extract<Access, { kind: 'device' }>

const digest = '0'.repeat(64)
const uuid: Claim = { kind: 'key', protocol: 'vless', key: 'a uuid' }
const access = (isInGrace = false): DeviceAccess => ({
  kind: 'device',
  key: 'device dev_1',
  owner: 'owner 1',
  source: undefined,
  protocol: 'vless',
  isInGrace,
  device: {
    id: 'dev_1',
    vless: digest,
    trojan: digest,
    password: digest,
    state: 'up',
    expires_at: 1_000_000,
    speed_mbit: null,
    owner: '1'.repeat(16),
  },
})

function open(isAdmitted = true) {
  const time = { nowMs: 1_000_000 }
  const asked: ProvenPlace[] = []
  const touched: (ProvenPlace & { at: number })[] = []
  const places = {
    ask: async (of: ProvenPlace) => {
      asked.push(of)
      return isAdmitted
    },
    touch: (active: readonly (ProvenPlace & { at: number })[]) => void touched.push(...active),
  }
  return { machines: new Machines({ places, clock: () => time.nowMs, sha256, node: 'nod_1' }), time, asked, touched }
}

test('the network of a client is its IPv4 address or its IPv6 /64, and differs between devices', () => {
  const of = (source: string, device = 'dev_1') => placeOf(device, source, sha256)
  expect(of('203.0.113.1')).toMatch(/^4[0-9a-f]{16}$/)
  expect(of('203.0.113.2')).not.toBe(of('203.0.113.1'))
  expect(of('203.0.113.1', 'dev_2')).not.toBe(of('203.0.113.1'))
  expect(of('2001:db8::1')).toMatch(/^6/)
  expect([of('2001:db8::2'), of('2001:db8:0:1::1') === of('2001:db8::1')]).toEqual([of('2001:db8::1'), false])
})

test('a machine asks before its first tunnel and not within 8 s of activity', async () => {
  const { machines, time, asked } = open()
  const entered = await machines.enter(access(), '203.0.113.1', uuid)
  expect(entered?.machine).toStartWith('dev_1 4')
  expect(machines.enter(access(), '203.0.113.1', uuid)).not.toBeInstanceOf(Promise)
  await machines.enter(access(), '203.0.113.2', uuid)
  time.nowMs += placeReportMs
  await machines.enter(access(), '203.0.113.1', uuid)
  expect(asked).toHaveLength(3)
})

test('a question has an HMAC with the presented key over gateway, device and network', async () => {
  const { machines, asked } = open()
  const login: Claim = { kind: 'password', credentials: { username: 'dev_1-nod_2', password: 'secret' } }
  await machines.enter(access(), '203.0.113.1', uuid)
  await machines.enter({ ...access(), exit: 'nod_2' }, '203.0.113.2', login)
  const proofOf = (key: string, place = '') => {
    const text = `machine 1\0nod_1\0dev_1\0${place}`
    return createHmac('sha256', key).update(text).digest('hex')
  }
  expect(asked).toMatchObject([
    { key: 'vless', proof: proofOf('a uuid', asked[0]?.place) },
    { key: 'password', exit: 'nod_2', proof: proofOf('secret', asked[1]?.place) },
  ])
})

test('a refused machine gets no access, and a device after its end is never asked for', async () => {
  const { machines, asked } = open(false)
  expect(await machines.enter(access(), '203.0.113.1', uuid)).toBeUndefined()
  expect((await machines.enter(access(true), '203.0.113.1', uuid))?.isInGrace).toBe(true)
  expect(asked).toHaveLength(1)
})

test('tunnels of a machine that lost its slot may not pass, and activity is passed on once a second', async () => {
  const { machines, time, touched } = open()
  const entered = (await machines.enter(access(), '203.0.113.1', uuid)) ?? access()
  time.nowMs += 5000
  expect(machines.note(entered, time.nowMs, time.nowMs)).toBe(true)
  machines.tick(time.nowMs)
  machines.tick(time.nowMs + 500)
  expect(touched.map(({ at }) => at)).toEqual([time.nowMs])
  const [device = '', place = ''] = entered.machine?.split(' ') ?? []
  machines.refuse([{ device, place }])
  expect(machines.note(entered, time.nowMs, time.nowMs)).toBe(false)
})

test('a machine without a tunnel for 60 s is forgotten', async () => {
  const { machines, time, asked } = open()
  await machines.enter(access(), '203.0.113.1', uuid)
  time.nowMs += placeLastsMs + 1
  machines.tick(time.nowMs)
  await machines.enter(access(), '203.0.113.1', uuid)
  expect(asked).toHaveLength(2)
})
