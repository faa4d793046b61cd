import { describe, expect, test } from 'bun:test'
import { Handshake, Handshakes, prefixesOf, Seat } from './seats.ts'

/** Handshakes with the names of the closed ones, and the number of list links that were read. */
function open() {
  const handshakes = new Handshakes()
  const closed: string[] = []
  let reads = 0
  const countReads = (of: { behind: unknown }): void => {
    let { behind } = of
    const get = () => {
      reads += 1
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
    reads: () => reads,
    begin: (name: string, source: string, beganAt = 0, isSilent = false): void => {
      const seat = new Seat(prefixesOf(source), () => {
        closed.push(name)
        handshakes.remove(one)
      })
      const one = new Handshake(
        seat,
        beganAt,
        () => expect.unreachable(),
        () => isSilent,
      )
      countReads(one)
      countReads(seat)
      handshakes.add(one)
    },
    makeRoom: (source: string, nowMs = 0): boolean => {
      const spare = handshakes.findSpare(prefixesOf(source), nowMs)
      spare?.close()
      return spare !== undefined
    },
  }
}

describe('the eviction of TLS handshakes', () => {
  test('Handshakes.findSpare returns the oldest handshake of the largest network for a client of a smaller network', () => {
    const { begin, makeRoom, closed } = open()
    begin('other', '192.0.2.2')
    for (const name of ['a1', 'a2', 'a3']) begin(name, '192.0.2.1')
    expect([makeRoom('192.0.2.3'), makeRoom('192.0.2.3')]).toEqual([true, true])
    expect(closed).toEqual(['a1', 'a2'])
    // One each: no network has more than the new client would have.
    expect(makeRoom('192.0.2.3')).toBe(false)
  })

  test('Handshakes.findSpare returns the oldest handshake of all after 2 s when no network has more than the new client', () => {
    const { begin, makeRoom, closed } = open()
    begin('first', '192.0.2.1', 0)
    begin('second', '192.0.2.2', 1)
    expect(makeRoom('192.0.2.3', 1999)).toBe(false)
    expect(makeRoom('192.0.2.3', 2000)).toBe(true)
    expect(closed).toEqual(['first'])
  })

  test('Handshakes.findSpare returns the oldest handshake without a ClientHello after 100 ms', () => {
    const { begin, makeRoom, closed } = open()
    begin('answered', '192.0.2.1', 0)
    begin('silent', '192.0.2.2', 1, true)
    begin('younger', '192.0.2.3', 2, true)
    expect(makeRoom('192.0.2.4', 100)).toBe(false)
    expect(makeRoom('192.0.2.4', 101)).toBe(true)
    expect(closed).toEqual(['silent'])
  })

  test('Handshakes.findSpare reads at most 8 links for each of 500 new clients among 2,048 handshakes of 1 to 2,048 networks', () => {
    for (const networks of [1, 16, 2048]) {
      const { begin, makeRoom, reads, closed } = open()
      const sourceOf = (at: number): string => `192.0.${(at % networks) >> 8}.${(at % networks) & 255}`
      for (let at = 0; at < 2048; at += 1) begin(`old${at}`, sourceOf(at))
      for (let at = 0; at < 500; at += 1) {
        const before = reads()
        expect(makeRoom('198.51.100.1', 2000)).toBe(true)
        begin(`new${at}`, `198.51.100.${at & 255}`, 2000)
        expect(reads() - before).toBeLessThanOrEqual(8)
      }
      expect(closed).toHaveLength(500)
    }
  })
})
