import { edenGC, fullGC, heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { scaled } from '../../test/harness/scale.ts'
import { notInSet, SwapRemoveSet } from './swap-remove-set.ts'

type Member = { readonly number: number; index: number }
const makeMember = (number: number): Member => ({ number, index: notInSet })

function membersOf(set: SwapRemoveSet<'index', Member>): number[] {
  const found: number[] = []
  set.forEach((member) => found.push(member.number))
  return found.toSorted((a, b) => a - b)
}

test('SwapRemoveSet holds the same members as a Set after random additions and deletions', () => {
  const step = fc.record({ number: fc.nat(12), isAdded: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const members = Array.from({ length: 13 }, (_, number) => makeMember(number))
      const set = new SwapRemoveSet<'index', Member>('index')
      const model = new Set<number>()
      for (const { number, isAdded } of steps) {
        const member = members[number] ?? makeMember(number)
        if (isAdded) set.add(member)
        else expect(set.delete(member)).toBe(model.has(number))
        if (isAdded) model.add(number)
        else model.delete(number)
        expect(set.has(member)).toBe(isAdded)
      }
      expect(membersOf(set)).toEqual([...model].toSorted((a, b) => a - b))
      expect(set.size).toBe(model.size)
    }),
    { numRuns: scaled(200) },
  )
})

test('SwapRemoveSet.forEach visits every remaining member, also when others are deleted meanwhile', () => {
  fc.assert(
    fc.property(fc.nat(20), fc.func(fc.nat(20)), (count, deletedBy) => {
      const members = Array.from({ length: count }, (_, number) => makeMember(number))
      const set = new SwapRemoveSet<'index', Member>('index')
      for (const member of members) set.add(member)
      const visited = new Set<number>()
      set.forEach((member) => {
        visited.add(member.number)
        const deleted = members[deletedBy(member.number)]
        if (deleted) set.delete(deleted)
      })
      for (const stayed of membersOf(set)) expect(visited.has(stayed)).toBe(true)
    }),
    { numRuns: scaled(200) },
  )
})

test('SwapRemoveSet releases deleted members to a young-generation collection, without a full one', () => {
  const set = new SwapRemoveSet<'index', Member & { readonly payload: number[] }>('index')
  const inside: (Member & { readonly payload: number[] })[] = []
  const addAndDelete = (): number => {
    for (let number = 0; number < 20_000; number += 1) {
      const member = { ...makeMember(number), payload: Array.from({ length: 20 }, () => number) }
      inside.push(member)
      set.add(member)
      const deleted = inside.length > 64 ? inside.shift() : undefined
      if (deleted) set.delete(deleted)
    }
    edenGC()
    return heapStats().heapSize
  }
  fullGC()
  addAndDelete()
  const before = addAndDelete()
  const grown = Array.from({ length: 4 }, addAndDelete).at(-1) ?? 0
  // All added members together take 15 MB.
  expect(grown - before).toBeLessThan(3_000_000)
})
