import { edenGC, fullGC, heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { scaled } from '../../test/harness/scale.ts'
import { notInSet, SwapRemoveSet } from './swap-remove-set.ts'

type Guest = { readonly number: number; index: number }
const makeGuest = (number: number): Guest => ({ number, index: notInSet })

function membersOf(set: SwapRemoveSet<'index', Guest>): number[] {
  const found: number[] = []
  set.forEach((guest) => found.push(guest.number))
  return found.toSorted((a, b) => a - b)
}

test('SwapRemoveSet holds the same members as a Set after random additions and deletions', () => {
  const step = fc.record({ number: fc.nat(12), comes: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const guests = Array.from({ length: 13 }, (_, number) => makeGuest(number))
      const set = new SwapRemoveSet<'index', Guest>('index')
      const model = new Set<number>()
      for (const { number, comes } of steps) {
        const guest = guests[number] ?? makeGuest(number)
        if (comes) set.add(guest)
        else expect(set.delete(guest)).toBe(model.has(number))
        if (comes) model.add(number)
        else model.delete(number)
        expect(set.has(guest)).toBe(comes)
      }
      expect(membersOf(set)).toEqual([...model].toSorted((a, b) => a - b))
      expect(set.size).toBe(model.size)
    }),
    { numRuns: scaled(200) },
  )
})

test('forEach visits every remaining member, also when others are deleted meanwhile', () => {
  fc.assert(
    fc.property(fc.nat(20), fc.func(fc.nat(20)), (count, leaverOf) => {
      const guests = Array.from({ length: count }, (_, number) => makeGuest(number))
      const set = new SwapRemoveSet<'index', Guest>('index')
      for (const guest of guests) set.add(guest)
      const visited = new Set<number>()
      set.forEach((guest) => {
        visited.add(guest.number)
        const leaver = guests[leaverOf(guest.number)]
        if (leaver) set.delete(leaver)
      })
      for (const stayed of membersOf(set)) expect(visited.has(stayed)).toBe(true)
    }),
    { numRuns: scaled(200) },
  )
})

test('deleted members are freed by a young-generation collection, without a full one', () => {
  const set = new SwapRemoveSet<'index', Guest & { readonly luggage: number[] }>('index')
  const inside: (Guest & { readonly luggage: number[] })[] = []
  const comeAndGo = (): number => {
    for (let number = 0; number < 20_000; number += 1) {
      const guest = { ...makeGuest(number), luggage: Array.from({ length: 20 }, () => number) }
      inside.push(guest)
      set.add(guest)
      const leaver = inside.length > 64 ? inside.shift() : undefined
      if (leaver) set.delete(leaver)
    }
    edenGC()
    return heapStats().heapSize
  }
  fullGC()
  comeAndGo()
  const before = comeAndGo()
  const grown = Array.from({ length: 4 }, comeAndGo).at(-1) ?? 0
  // All added members together take 15 MB.
  expect(grown - before).toBeLessThan(3_000_000)
})
