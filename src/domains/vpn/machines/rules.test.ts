import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { placeLastsMs, placeMovesAfterMs } from '../../../core/device-places.ts'
import { judgePlace, type Place } from './rules.ts'

const nowMs = 1_000_000
const machine = (device: string, place: string, ageMs = 0, beganAt = 0): Place => ({
  device,
  place,
  beganAt,
  activeAt: nowMs - ageMs,
})
const arriving = (device: string, place: string) => ({ device, place, activeAt: nowMs, isNew: true })
const five = ['a', 'b', 'c', 'd', 'e'].map((device) => machine(device, '4home'))

describe('judgePlace', () => {
  test('judgePlace refuses a sixth machine with a copied key on a limit of five, and admits a fifth', () => {
    expect(judgePlace(5, five, arriving('a', '4other'), nowMs)).toEqual({ isAdmitted: false })
    expect(judgePlace(5, five.slice(1), arriving('b', '4other'), nowMs)).toEqual({ isAdmitted: true })
  })

  test('judgePlace admits machines that are known, and five devices behind one NAT', () => {
    expect(judgePlace(5, five, arriving('a', '4home'), nowMs)).toEqual({ isAdmitted: true })
    expect(judgePlace(5, five.slice(1), arriving('a', '4home'), nowMs)).toEqual({ isAdmitted: true })
  })

  test('judgePlace lets a phone move to another network once its machine was silent for 15 s', () => {
    const silent = machine('a', '4home', placeMovesAfterMs)
    const places = [silent, ...five.slice(1)]
    expect(judgePlace(5, places, arriving('a', '4mobile'), nowMs)).toEqual({ isAdmitted: true, evicted: silent })
    const busy = [machine('a', '4home', placeMovesAfterMs - 1), ...five.slice(1)]
    expect(judgePlace(5, busy, arriving('a', '4mobile'), nowMs)).toEqual({ isAdmitted: false })
    const report = { ...arriving('a', '4mobile'), isNew: false }
    expect(judgePlace(5, places, report, nowMs)).toEqual({ isAdmitted: false })
  })

  test('judgePlace counts IPv4 and IPv6 of a device as one machine', () => {
    expect(judgePlace(5, five, arriving('a', '6home'), nowMs)).toEqual({ isAdmitted: true })
    const both = [...five, machine('a', '6home')]
    expect(judgePlace(5, both, arriving('a', '6other'), nowMs)).toEqual({ isAdmitted: false })
  })

  test('judgePlace gives a device’s first machine the slot of the newest machine with a copied key', () => {
    const copies = [machine('a', '4one', 0, 10), machine('a', '4two', 0, 30), machine('b', '4home', 0, 50)]
    const verdict = judgePlace(3, copies, arriving('c', '4home'), nowMs)
    expect(verdict).toEqual({ isAdmitted: true, evicted: machine('a', '4two', 0, 30) })
    expect(judgePlace(5, five, arriving('f', '4home'), nowMs)).toEqual({ isAdmitted: false })
  })

  test('judgePlace counts no machine that was silent for 60 s', () => {
    const gone = [machine('a', '4home', placeLastsMs), ...five.slice(1)]
    expect(judgePlace(5, gone, arriving('b', '4other'), nowMs)).toEqual({ isAdmitted: true })
  })

  test('machines that are active never exceed the limit, whatever connects in any order', () => {
    const step = fc.record({
      device: fc.constantFrom('a', 'b', 'c', 'd'),
      place: fc.constantFrom('4one', '4two', '4three', '6one', '6two'),
      waitMs: fc.constantFrom(0, 1000, 16_000, 61_000),
      isNew: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 60 }), (limit, steps) => {
        let places: readonly Place[] = []
        let at = nowMs
        for (const { waitMs, ...seen } of steps) {
          at += waitMs
          const { isAdmitted, evicted } = judgePlace(limit, places, { ...seen, activeAt: at }, at)
          const isSame = (of: Place) => of.device === seen.device && of.place === seen.place
          const before = places.find(isSame)
          if (isAdmitted)
            places = [
              ...places.filter((of) => of !== evicted && !isSame(of)),
              { ...seen, activeAt: at, beganAt: before?.beganAt ?? at },
            ]
          const active = places.filter(({ activeAt }) => at - activeAt < placeLastsMs)
          for (const family of ['4', '6'])
            expect(active.filter(({ place }) => place.startsWith(family)).length).toBeLessThanOrEqual(limit)
        }
      }),
    )
  })
})
