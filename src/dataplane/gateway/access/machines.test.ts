import { expect, test } from 'bun:test'
import { sha256 } from '../../../../test/harness/desired.ts'
import { placeLastsMs, placeReportMs } from '../../../core/device-places.ts'
import type { DevicePlace } from '../../agent/places.ts'
import type { Access } from './admission.ts'
import { Machines, placeOf } from './machines.ts'

type DeviceAccess = Extract<Access, { kind: 'device' }>

const digest = '0'.repeat(64)
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
  const asked: DevicePlace[] = []
  const touched: (DevicePlace & { at: number })[] = []
  const places = {
    ask: async (of: DevicePlace) => {
      asked.push(of)
      return isAdmitted
    },
    touch: (active: readonly (DevicePlace & { at: number })[]) => void touched.push(...active),
  }
  return { machines: new Machines({ places, clock: () => time.nowMs, sha256 }), time, asked, touched }
}

test('the network of a client is its IPv4 address or its IPv6 /64, and differs between devices', () => {
  const of = (source: string, device = 'dev_1') => placeOf(device, source, sha256)
  expect(of('203.0.113.1')).toMatch(/^4[0-9a-f]{16}$/)
  expect(of('203.0.113.2')).not.toBe(of('203.0.113.1'))
  expect(of('203.0.113.1', 'dev_2')).not.toBe(of('203.0.113.1'))
  expect(of('2001:db8::1')).toMatch(/^6/)
  expect([of('2001:db8::2'), of('2001:db8:0:1::1') === of('2001:db8::1')]).toEqual([of('2001:db8::1'), false])
})

test('a machine asks before its first tunnel and not within 10 s of activity', async () => {
  const { machines, time, asked } = open()
  const entered = await machines.enter(access(), '203.0.113.1')
  expect(entered?.machine).toStartWith('dev_1 4')
  expect(machines.enter(access(), '203.0.113.1')).not.toBeInstanceOf(Promise)
  await machines.enter(access(), '203.0.113.2')
  time.nowMs += placeReportMs
  await machines.enter(access(), '203.0.113.1')
  expect(asked).toHaveLength(3)
})

test('a refused machine gets no access, and a device after its end is never asked for', async () => {
  const { machines, asked } = open(false)
  expect(await machines.enter(access(), '203.0.113.1')).toBeUndefined()
  expect((await machines.enter(access(true), '203.0.113.1'))?.isInGrace).toBe(true)
  expect(asked).toHaveLength(1)
})

test('tunnels of a machine that lost its slot may not pass, and activity is passed on once a second', async () => {
  const { machines, time, touched } = open()
  const entered = (await machines.enter(access(), '203.0.113.1')) ?? access()
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
  await machines.enter(access(), '203.0.113.1')
  time.nowMs += placeLastsMs + 1
  machines.tick(time.nowMs)
  await machines.enter(access(), '203.0.113.1')
  expect(asked).toHaveLength(2)
})
