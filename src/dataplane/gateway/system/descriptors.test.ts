import { describe, expect, test } from 'bun:test'
import { Descriptors, ownedCells, ownedIn, PipePool } from './descriptors.ts'
import type { KernelPipe } from './kernel.ts'

function open(isStrict = true) {
  const closed: number[] = []
  const owned = new Int32Array(ownedCells)
  const descriptors = new Descriptors(owned, (descriptor) => closed.push(descriptor), isStrict)
  return { descriptors, closed, owned }
}

describe('Descriptors', () => {
  test('a released descriptor is closed once, by flush()', () => {
    const { descriptors, closed } = open()
    descriptors.own(7)
    descriptors.release(7)
    expect(closed).toEqual([])
    descriptors.flush()
    descriptors.flush()
    expect(closed).toEqual([7])
    expect(() => descriptors.release(7)).toThrow('closed twice')
  })

  test('a shared descriptor stays open until both holders release it', () => {
    const { descriptors, closed } = open()
    descriptors.own(7)
    descriptors.share(7)
    descriptors.release(7)
    descriptors.flush()
    expect(closed).toEqual([])
    descriptors.release(7)
    descriptors.flush()
    expect(closed).toEqual([7])
  })

  test('a descriptor cannot be owned twice or shared while closed', () => {
    const { descriptors } = open()
    descriptors.own(7)
    expect(() => descriptors.own(7)).toThrow('owned already')
    expect(() => descriptors.share(8)).toThrow('not open')
  })

  test('ownedIn() lists the descriptors that are owned and not released', () => {
    const { descriptors, owned } = open()
    for (const descriptor of [3, 31, 32, 1000, 65_535]) descriptors.own(descriptor)
    descriptors.release(32)
    descriptors.flush()
    expect([...ownedIn(owned)]).toEqual([3, 31, 1000, 65_535])
  })

  test('Descriptors.own() closes and refuses descriptor 5,000,000, which is beyond the table', () => {
    const { descriptors, closed } = open()
    expect(descriptors.own(5_000_000)).toBeFalse()
    expect(closed).toEqual([5_000_000])
  })

  test('a double release is ignored outside strict mode', () => {
    const { descriptors, closed } = open(false)
    descriptors.own(7)
    descriptors.release(7)
    descriptors.release(7)
    descriptors.flush()
    expect(closed).toEqual([7])
  })
})

describe('PipePool', () => {
  function openPool() {
    const { descriptors, closed } = open()
    let last = 100
    const make = (): KernelPipe => ({ readEnd: (last += 2), writeEnd: last + 1, held: 0 })
    return { pool: new PipePool(make, descriptors, true, { connections: 20_000, threads: 1 }), descriptors, closed }
  }

  test('PipePool reuses a pipe only when it is empty', () => {
    const { pool, closed, descriptors } = openPool()
    const first = pool.take()
    if (!first) throw new Error('there is no pipe')
    pool.give(first)
    expect(pool.take()).toBe(first)
    first.held = 5
    pool.give(first)
    descriptors.flush()
    expect(closed).toEqual([first.readEnd, first.writeEnd])
    expect(pool.take()).not.toBe(first)
  })

  test('PipePool rejects a pipe that is returned twice or not empty', () => {
    const { pool } = openPool()
    const pipe = pool.take()
    if (!pipe) throw new Error('there is no pipe')
    pool.give(pipe)
    expect(() => pool.give(pipe)).toThrow('twice')
    pipe.held = 1
    expect(() => pool.take()).toThrow('holds bytes')
  })

  test('PipePool for 20,000 connections opens at most 200 pipes', () => {
    const { pool } = openPool()
    const taken = Array.from({ length: 250 }, () => pool.take())
    expect(taken.filter((pipe) => pipe !== undefined)).toHaveLength(200)
    expect(pool.pipeCounts).toEqual({ open: 200, idle: 0 })
  })
})
