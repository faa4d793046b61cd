import { describe, expect, test } from 'bun:test'
import { readAddress } from '../../core/address.ts'
import { prefixesOf, Seat, Seats } from './seats.ts'

const hourMs = 3_600_000

/** Seats whose holders are closed by name. */
function open(max: number) {
  let nowMs = 0
  const seats = new Seats(max, () => nowMs)
  const closed: string[] = []
  const held = new Map<string, Seat>()
  return {
    closed,
    sit: (name: string, source: string): void => {
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

describe('when all places are taken', () => {
  test('the least recently used connection of the network that has most is closed', () => {
    const { sit, use, makeRoom, closed } = open(6)
    for (const name of ['a1', 'a2', 'a3']) sit(name, '192.0.2.1')
    for (const name of ['b1', 'b2']) sit(name, '192.0.2.2')
    sit('c1', '192.0.2.3')
    use('a1')
    makeRoom()
    expect(closed).toEqual(['a2'])
    use('a3')
    // Two networks have two each: the one that was used least recently makes room.
    makeRoom()
    expect(closed).toEqual(['a2', 'b1'])
    makeRoom()
    expect(closed).toEqual(['a2', 'b1', 'a1'])
  })

  test('connections of one IPv6 /48 count together, whichever /64 they come from', () => {
    const { sit, makeRoom, closed } = open(6)
    for (let subnet = 1; subnet <= 3; subnet += 1) sit(`six${subnet}`, `2001:db8:7:${subnet}::1`)
    sit('other', '2001:db8:8:1::1')
    for (const name of ['four1', 'four2']) sit(name, '192.0.2.1')
    makeRoom()
    expect(closed).toEqual(['six1'])
  })

  test('half of the places are kept for addresses that authenticated within an hour, /64 by /64', () => {
    const { sit, makeRoom, closed, welcome, wait } = open(8)
    for (const name of ['k1', 'k2', 'k3']) sit(name, '2001:db8:7:1::1')
    sit('neighbour', '2001:db8:7:2::1')
    for (const [name, source] of Object.entries({ s1: '192.0.2.1', s2: '192.0.2.2', s3: '192.0.2.3' }))
      sit(name, source)
    welcome('2001:db8:7:1::9')
    for (let count = 0; count < 4; count += 1) makeRoom()
    expect(closed.toSorted()).toEqual(['neighbour', 's1', 's2', 's3'])
    wait(hourMs)
    for (const name of ['late1', 'late2']) sit(name, '2001:db8:7:1::1')
    makeRoom()
    expect(closed.at(-1)).toBe('late1')
  })

  test('authenticated addresses hold no more than half of the places against others', () => {
    const { sit, makeRoom, closed, welcome } = open(4)
    welcome('192.0.2.1')
    for (const name of ['k1', 'k2', 'k3']) sit(name, '192.0.2.1')
    sit('stranger', '192.0.2.2')
    makeRoom()
    expect(closed).toEqual(['k1'])
    makeRoom()
    expect(closed).toEqual(['k1', 'stranger'])
  })
})
