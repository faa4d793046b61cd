import { describe, expect, test } from 'bun:test'
import { Handshake, Handshakes, prefixesOf, Seat } from './seats.ts'

/** Handshakes that are closed by name, and how often one of them was looked at. */
function open() {
  const handshakes = new Handshakes()
  const closed: string[] = []
  let looks = 0
  const countLooks = (of: { behind: unknown }): void => {
    let { behind } = of
    const get = () => {
      looks += 1
      return behind
    }
    const set = (next: unknown): void => {
      behind = next
    }
    Object.defineProperty(of, 'behind', { get, set })
  }
  return {
    handshakes,
    closed,
    looks: () => looks,
    begin: (name: string, source: string, beganAt = 0): void => {
      const seat = new Seat(prefixesOf(source), () => {
        closed.push(name)
        handshakes.remove(one)
      })
      const one = new Handshake(seat, beganAt, () => expect.unreachable())
      countLooks(one)
      countLooks(seat)
      handshakes.add(one)
    },
    makeRoom: (source: string, nowMs = 0): boolean => {
      const spare = handshakes.findSpare(prefixesOf(source), nowMs)
      spare?.close()
      return spare !== undefined
    },
  }
}

describe('when no more handshakes may begin', () => {
  test('the oldest of the network that has most is closed for a network that has fewer', () => {
    const { begin, makeRoom, closed } = open()
    begin('other', '192.0.2.2')
    for (const name of ['a1', 'a2', 'a3']) begin(name, '192.0.2.1')
    expect([makeRoom('192.0.2.3'), makeRoom('192.0.2.3')]).toEqual([true, true])
    expect(closed).toEqual(['a1', 'a2'])
    // One each: no network has more than the newcomer would have.
    expect(makeRoom('192.0.2.3')).toBe(false)
  })

  test('the oldest of all is closed when no network has more than the newcomer, after 2 s', () => {
    const { begin, makeRoom, closed } = open()
    begin('first', '192.0.2.1', 0)
    begin('second', '192.0.2.2', 1)
    expect(makeRoom('192.0.2.3', 1999)).toBe(false)
    expect(makeRoom('192.0.2.3', 2000)).toBe(true)
    expect(closed).toEqual(['first'])
  })

  test('each newcomer looks at 8 of 2,048 handshakes at most, from one network or from many', () => {
    for (const networks of [1, 16, 2048]) {
      const { begin, makeRoom, looks, closed } = open()
      const sourceOf = (at: number): string => `192.0.${(at % networks) >> 8}.${(at % networks) & 255}`
      for (let at = 0; at < 2048; at += 1) begin(`old${at}`, sourceOf(at))
      for (let at = 0; at < 500; at += 1) {
        const before = looks()
        expect(makeRoom('198.51.100.1', 2000)).toBe(true)
        begin(`new${at}`, `198.51.100.${at & 255}`, 2000)
        expect(looks() - before).toBeLessThanOrEqual(8)
      }
      expect(closed).toHaveLength(500)
    }
  })
})
