import { expect, test } from 'bun:test'
import { HandTime } from '../../../../../test/harness/hand-time.ts'
import { makeMemory, viewMemory } from './shared-memory.ts'
import { maxUnjudged, TlsPassing } from './tls-passing.ts'

const address = (into: Int32Array, at: number): void => void into.fill(7, at, at + 7)

function openPassing(reactors: number, { isSticky = false, random = Math.random } = {}) {
  const time = new HandTime()
  const rung: number[] = []
  const all = Array.from({ length: reactors }, (_, bell) => ({ memory: viewMemory(makeMemory()), bell }))
  for (const { memory } of all) {
    memory.isServing = true
    memory.isDirect = true
  }
  const ring = (bell: number): void => void rung.push(bell)
  const passing = new TlsPassing(all, { ring, random, now: time.clock, isSticky })
  return { time, rung, passing, memories: all.map(({ memory }) => memory) }
}

test('a reactor gets at most 64 clients that the front has not judged, and more once the front has', () => {
  const { passing, memories } = openPassing(1)
  const passMany = (from: number, count: number): number =>
    Array.from({ length: count }).filter((_, each) => passing.pass(0, 100 + each, `10.0.${from}.${each}`, address))
      .length
  expect(passMany(1, 100)).toBe(maxUnjudged)
  const taken: number[] = []
  memories[0]?.takeTlsArrivals((descriptor) => taken.push(descriptor))
  expect(taken).toEqual(Array.from({ length: maxUnjudged }, (_, each) => 100 + each))
  expect(passMany(2, 100)).toBe(0)
  memories[0]?.noteKnown(10)
  expect(passMany(3, 100)).toBe(10)
})

test('an address or an IPv6 /48 passes at most 32 clients at once and 200 per second, and none while the front judges first', () => {
  const { passing, memories, time } = openPassing(1)
  const passFrom = (sourceOf: (each: number) => string): number =>
    Array.from({ length: 50 }).filter((_, each) => {
      memories[0]?.noteKnown(1)
      return passing.pass(0, each, sourceOf(each), address)
    }).length
  expect(passFrom(() => '192.0.2.1')).toBe(32)
  expect(passFrom((each) => `2001:db8:1:${each}::1`)).toBe(32)
  time.pass(50)
  expect(passFrom(() => '192.0.2.1')).toBe(10)
  if (memories[0]) memories[0].isDirect = false
  expect(passFrom((each) => `192.0.2.${each}`)).toBe(0)
})

test('the death of a reactor leaves no client counted as unjudged, and clears its way in', () => {
  const { passing, memories } = openPassing(1)
  const [memory = expect.unreachable()] = memories
  for (let each = 0; each < 5; each += 1) passing.pass(0, 40 + each, `192.0.2.${each}`, address)
  expect(memory.unjudged).toBe(5)
  expect([...memory.clear()]).toEqual([40, 41, 42, 43, 44])
  // The front hears late of some of them.
  memory.noteKnown(3)
  expect([memory.unjudged, memory.isDirect, memory.shaking]).toEqual([0, false, 0])
})

test('a sleeping reactor is woken once for all clients of a turn', () => {
  const { passing, memories, rung } = openPassing(2)
  if (memories[1]) memories[1].isAsleep = true
  for (let each = 0; each < 4; each += 1) passing.pass(each % 2, each, `192.0.2.${each}`, address)
  passing.flush()
  passing.flush()
  expect(rung).toEqual([1])
})

test('clients go to the less loaded of two reactors drawn at random, and with VPN devices an address to its last one', () => {
  let drawn = 0
  const random = (): number => [0, 0.5][drawn++ % 2] ?? 0
  const { passing, memories } = openPassing(2, { random })
  if (memories[0]) memories[0].inUse = 3
  expect(passing.choose('192.0.2.1')).toBe(1)
  const sticky = openPassing(2, { random, isSticky: true })
  const [one = expect.unreachable(), other = expect.unreachable()] = sticky.memories
  one.inUse = 1
  expect(sticky.passing.choose('192.0.2.1')).toBe(1)
  other.inUse = 30
  expect(sticky.passing.choose('192.0.2.1')).toBe(1)
  other.inUse = 40
  expect(sticky.passing.choose('192.0.2.1')).toBe(0)
  for (const memory of sticky.memories) memory.isServing = false
  expect(sticky.passing.choose('192.0.2.1')).toBe(-1)
})
