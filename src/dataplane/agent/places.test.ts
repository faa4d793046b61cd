import { expect, test } from 'bun:test'
import { HandTiming, quietLog, settle } from '../../../test/harness/hand-timing.ts'
import { placeReportMs } from '../../core/device-places.ts'
import type { PlacesBody } from '../../node-protocol/places.ts'
import { type DevicePlace, PlaceReports } from './places.ts'
import { LinkError } from './shop-link.ts'

const shown = { key: 'vless', proof: '0'.repeat(64) } as const
const one = { device: 'dev_1', place: `4${'1'.repeat(16)}`, ...shown }
const two = { device: 'dev_1', place: `4${'2'.repeat(16)}`, ...shown }

function open(answer: (body: PlacesBody) => readonly DevicePlace[]) {
  const timing = new HandTiming()
  const sent: PlacesBody['places'][] = []
  const lost: DevicePlace[] = []
  const reports = new PlaceReports({
    link: {
      places: async (body) => {
        sent.push(body.places)
        return { refused: [...answer(body)] }
      },
    },
    clock: timing.now,
    timing,
    log: quietLog,
    onRefused: (places) => void lost.push(...places),
  })
  return { reports, timing, sent, lost }
}

test('ask() asks the shop once for equal questions, and again after 8 s without activity', async () => {
  const { reports, timing, sent } = open(() => [])
  expect(await Promise.all([reports.ask(one), reports.ask(one)])).toEqual([true, true])
  expect(sent).toHaveLength(1)
  await timing.advance(placeReportMs)
  expect(await reports.ask(one)).toBe(true)
  expect(sent).toHaveLength(2)
})

test('ask() sends the activity of the device’s other machines here, and cuts those that lose their slot', async () => {
  const { reports, sent, lost } = open(({ places }) => places.filter(({ is_new: isNew }) => !isNew))
  await reports.ask(one)
  reports.touch([{ ...one, at: 5 }])
  expect(await reports.ask(two)).toBe(true)
  expect(sent[1]).toEqual([
    { ...one, active_at: 5, is_new: false },
    { ...two, active_at: 0, is_new: true },
  ])
  expect(lost).toMatchObject([one])
})

test('ask() admits a machine while the shop cannot be reached', async () => {
  const { reports } = open(() => {
    throw new LinkError('unreachable', 'no answer')
  })
  expect(await reports.ask(one)).toBe(true)
})

test('ask() admits a machine if the shop answers 503, and refuses it if the shop answers 429', async () => {
  let status = 503
  const { reports, timing } = open(() => {
    throw new LinkError('unreachable', 'busy', status)
  })
  expect(await reports.ask(one)).toBe(true)
  status = 429
  expect(await reports.ask(two)).toBe(false)
  await timing.advance(placeReportMs)
  expect(await reports.ask(one)).toBe(true)
  status = 503
  expect(await reports.ask(two)).toBe(true)
})

test('ask() answers for a refused machine itself for 5 s', async () => {
  const { reports, timing, sent } = open(({ places }) => places)
  for (let time = 0; time < 100; time += 1) expect(await reports.ask(one)).toBe(false)
  expect(sent).toHaveLength(1)
  await timing.advance(5000)
  expect(await reports.ask(one)).toBe(false)
  expect(sent).toHaveLength(2)
})

test('ask() asks for 8 new machines of one device at once and 4 a second, and for other devices as well', async () => {
  const { reports, timing, sent } = open(({ places }) => places)
  let asked = 0
  const machineOf = (device: string) => ({ ...one, device, place: `4${String((asked += 1)).padStart(16, '0')}` })
  const flood = async () => {
    for (let time = 0; time < 100; time += 1) expect(await reports.ask(machineOf('dev_1'))).toBe(false)
    return sent.length
  }
  expect(await flood()).toBe(8)
  reports.touch([{ ...one, at: -placeReportMs }])
  await reports.ask(one)
  expect(sent).toHaveLength(9)
  await timing.advance(1000)
  expect(await flood()).toBe(13)
  await reports.ask(machineOf('dev_2'))
  expect(sent).toHaveLength(14)
})

test('active machines are reported every 8 s, and a refused one is cut', async () => {
  const { reports, timing, sent, lost } = open(({ places }) => places)
  reports.touch([{ ...one, at: 3 }])
  expect(sent).toHaveLength(0)
  await timing.advance(placeReportMs)
  reports.touch([{ ...two, at: placeReportMs }])
  await settle()
  expect([sent.length, lost.length]).toEqual([1, 2])
  reports.touch([{ ...two, at: placeReportMs }])
  await settle()
  expect(sent).toHaveLength(1)
})
