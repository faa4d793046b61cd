import { describe, expect, test } from 'bun:test'
import type { LinkedQueueItem } from '../../../core/linked-queue.ts'
import { Arrivals, type WaitingClient } from './arrivals.ts'
import { shippedPorts } from './policy.ts'

const policy = {
  allowLoopback: false,
  ownAddresses: [],
  denyPrefixes: [],
  denyNames: new Set<string>(),
  ports: shippedPorts,
}

interface Guest extends WaitingClient, LinkedQueueItem<Guest> {
  isWaiting: boolean
  isUnauthenticated: boolean
  isIn: boolean
}

function open(connections: number) {
  let nowMs = 1_000_000
  let lingering = 0
  const arrivals = new Arrivals<Guest>({
    policy: () => policy,
    clock: () => nowMs,
    connections,
    lingering: () => lingering,
  })
  const come = (source: string, is: Partial<Guest> = {}): Guest => {
    const guest: Guest = {
      source,
      cameAt: nowMs,
      isWaiting: true,
      isUnauthenticated: true,
      isIn: false,
      before: undefined,
      behind: undefined,
      evict() {
        guest.isIn = false
        arrivals.leave(guest)
        arrivals.closed()
      },
      ...is,
    }
    arrivals.opened()
    guest.isIn = arrivals.enter(guest)
    if (!guest.isIn) arrivals.closed()
    return guest
  }
  return {
    arrivals,
    come,
    pass: (ms: number) => void (nowMs += ms),
    linger: (count: number) => void (lingering = count),
  }
}

const customer = { isUnauthenticated: false }
const relaying = { isUnauthenticated: false, isWaiting: false }

describe('arrivals', () => {
  test('one network has at most half of the places, and its newest ones have them', () => {
    const { arrivals, come } = open(100)
    const guests = Array.from({ length: 60 }, () => come('192.0.2.1'))
    expect(guests.map(({ isIn }) => isIn)).toEqual([...Array(10).fill(false), ...Array(50).fill(true)])
    expect(arrivals.pressure).toEqual({ spared: 10, turnedAway: 0 })
  })

  test('all addresses of a /64 of IPv6 are one network, and the next /64 is another', () => {
    const { come } = open(20)
    const guests = Array.from({ length: 30 }, (_, index) => come(`2001:db8::${index.toString(16)}`))
    expect(guests.filter(({ isIn }) => isIn)).toHaveLength(10)
    come('2001:db8:0:1::1')
    expect(guests.filter(({ isIn }) => isIn)).toHaveLength(10)
  })

  test('a network whose places are all at work has no more', () => {
    const { come } = open(20)
    for (let index = 0; index < 10; index += 1) come('192.0.2.1', relaying)
    expect(come('192.0.2.1').isIn).toBeFalse()
    expect(come('192.0.2.2').isIn).toBeTrue()
  })

  test('a customer’s place is made of the oldest stranger of the largest network, then of customers who rest', () => {
    const { arrivals, come, pass } = open(40)
    const resting = come('192.0.2.1', customer)
    const few = [come('192.0.2.2'), come('192.0.2.2')]
    const many = [come('192.0.2.3'), come('192.0.2.3'), come('192.0.2.3')]
    const atWork = come('192.0.2.4', relaying)
    pass(1000)
    const order: string[] = []
    const everybody = { resting, few0: few[0], few1: few[1], many0: many[0], many1: many[1], many2: many[2], atWork }
    while (arrivals.makeRoom()) {
      for (const [name, guest] of Object.entries(everybody)) {
        if (guest?.isIn === false && !order.includes(name)) order.push(name)
      }
    }
    expect(order.slice(0, 2)).toEqual(['many0', 'few0'])
    expect(order.at(-1)).toBe('resting')
    expect(order).toHaveLength(6)
    expect(atWork.isIn).toBeTrue()
  })

  test('a newcomer from a network that has few is left alone for a second', () => {
    const { arrivals, come, pass } = open(40)
    const guest = come('192.0.2.2')
    pass(999)
    expect(arrivals.makeRoom()).toBeFalse()
    pass(1)
    expect(arrivals.makeRoom()).toBeTrue()
    expect(guest.isIn).toBeFalse()
  })

  test('closed connections with open descriptors take places', () => {
    const { arrivals, come, linger } = open(40)
    linger(40)
    expect(arrivals.isFull).toBeFalse()
    expect(come('192.0.2.1').isIn).toBeTrue()
    expect(arrivals.isFull).toBeTrue()
    linger(48)
    expect(come('192.0.2.2').isIn).toBeFalse()
    expect(arrivals.pressure.turnedAway).toBe(1)
  })
})
