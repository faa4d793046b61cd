import { describe, expect, test } from 'bun:test'
import { readAddress } from '../../core/address.ts'
import { prefixesOf, Seat, Seats } from './seats.ts'

const hourMs = 3_600_000

/** Connections with names, and the names of the closed ones. */
function open(max: number) {
  let nowMs = 0
  const seats = new Seats(max, () => nowMs)
  const closed: string[] = []
  const held = new Map<string, Seat>()
  return {
    closed,
    add: (name: string, source: string): void => {
      const seat = new Seat(prefixesOf(source), () => {
        closed.push(name)
        seats.remove(seat)
      })
      held.set(name, seat)
      seats.add(seat)
    },
    use: (name: string): void => seats.touch(held.get(name) ?? expect.unreachable()),
    makeRoom: (): void => seats.makeRoom(),
    welcome: (source: string): void => seats.welcome(readAddress(source) ?? expect.unreachable()),
    wait: (ms: number): void => void (nowMs += ms),
  }
}

describe('the eviction of connections', () => {
  test('Seats.makeRoom closes the least recently used connection of the network with the most connections', () => {
    const { add, use, makeRoom, closed } = open(6)
    for (const name of ['a1', 'a2', 'a3']) add(name, '192.0.2.1')
    for (const name of ['b1', 'b2']) add(name, '192.0.2.2')
    add('c1', '192.0.2.3')
    use('a1')
    makeRoom()
    expect(closed).toEqual(['a2'])
    use('a3')
    // Two networks have two each: the least recently used one loses a connection.
    makeRoom()
    expect(closed).toEqual(['a2', 'b1'])
    makeRoom()
    expect(closed).toEqual(['a2', 'b1', 'a1'])
  })

  test('Seats.makeRoom counts connections of one IPv6 /48 together, also from different /64', () => {
    const { add, makeRoom, closed } = open(6)
    for (let subnet = 1; subnet <= 3; subnet += 1) add(`six${subnet}`, `2001:db8:7:${subnet}::1`)
    add('other', '2001:db8:8:1::1')
    for (const name of ['four1', 'four2']) add(name, '192.0.2.1')
    makeRoom()
    expect(closed).toEqual(['six1'])
  })

  test('Seats.makeRoom spares addresses that authenticated within an hour, per IPv6 /64, in half of the connections', () => {
    const { add, makeRoom, closed, welcome, wait } = open(8)
    for (const name of ['k1', 'k2', 'k3']) add(name, '2001:db8:7:1::1')
    add('neighbour', '2001:db8:7:2::1')
    for (const [name, source] of Object.entries({ s1: '192.0.2.1', s2: '192.0.2.2', s3: '192.0.2.3' }))
      add(name, source)
    welcome('2001:db8:7:1::9')
    for (let count = 0; count < 4; count += 1) makeRoom()
    expect(closed.toSorted()).toEqual(['neighbour', 's1', 's2', 's3'])
    wait(hourMs)
    for (const name of ['late1', 'late2']) add(name, '2001:db8:7:1::1')
    makeRoom()
    expect(closed.at(-1)).toBe('late1')
  })

  test('Seats.makeRoom closes a connection of an authenticated address that has more than half of the connections', () => {
    const { add, makeRoom, closed, welcome } = open(4)
    welcome('192.0.2.1')
    for (const name of ['k1', 'k2', 'k3']) add(name, '192.0.2.1')
    add('other', '192.0.2.2')
    makeRoom()
    expect(closed).toEqual(['k1'])
    makeRoom()
    expect(closed).toEqual(['k1', 'other'])
  })
})
