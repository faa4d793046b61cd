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

interface FakeClient extends WaitingClient, LinkedQueueItem<FakeClient> {
  isWaiting: boolean
  isUnauthenticated: boolean
  isOpen: boolean
}

function open(connections: number) {
  let nowMs = 1_000_000
  let lingering = 0
  const arrivals = new Arrivals<FakeClient>({
    policy: () => policy,
    clock: () => nowMs,
    connections,
    lingering: () => lingering,
  })
  const connect = (source: string, is: Partial<FakeClient> = {}): FakeClient => {
    const client: FakeClient = {
      source,
      cameAt: nowMs,
      isWaiting: true,
      isUnauthenticated: true,
      isOpen: false,
      before: undefined,
      behind: undefined,
      evict() {
        client.isOpen = false
        arrivals.leave(client)
        arrivals.open -= 1
      },
      ...is,
    }
    arrivals.open += 1
    client.isOpen = arrivals.enter(client)
    if (!client.isOpen) arrivals.open -= 1
    return client
  }
  return {
    arrivals,
    connect,
    pass: (ms: number) => void (nowMs += ms),
    linger: (count: number) => void (lingering = count),
  }
}

const customer = { isUnauthenticated: false }
const relaying = { isUnauthenticated: false, isWaiting: false }

describe('Arrivals', () => {
  test('one network holds at most half of the connection slots, and its oldest connections are evicted', () => {
    const { arrivals, connect } = open(100)
    const clients = Array.from({ length: 60 }, () => connect('192.0.2.1'))
    expect(clients.map(({ isOpen }) => isOpen)).toEqual([...Array(10).fill(false), ...Array(50).fill(true)])
    expect(arrivals.pressure).toEqual({ spared: 10, turnedAway: 0 })
  })

  test('all addresses of an IPv6 /64 are one network', () => {
    const { connect } = open(20)
    const clients = Array.from({ length: 30 }, (_, index) => connect(`2001:db8::${index.toString(16)}`))
    expect(clients.filter(({ isOpen }) => isOpen)).toHaveLength(10)
    connect('2001:db8:0:1::1')
    expect(clients.filter(({ isOpen }) => isOpen)).toHaveLength(10)
  })

  test('a network whose slots all have tunnels gets no further connection, and another network does', () => {
    const { connect } = open(20)
    for (let index = 0; index < 10; index += 1) connect('192.0.2.1', relaying)
    expect(connect('192.0.2.1').isOpen).toBeFalse()
    expect(connect('192.0.2.2').isOpen).toBeTrue()
  })

  test('Arrivals.makeRoom evicts unauthenticated clients of the largest network first, idle customers last', () => {
    const { arrivals, connect, pass } = open(40)
    const idle = connect('192.0.2.1', customer)
    const few = [connect('192.0.2.2'), connect('192.0.2.2')]
    const many = [connect('192.0.2.3'), connect('192.0.2.3'), connect('192.0.2.3')]
    const busy = connect('192.0.2.4', relaying)
    pass(1000)
    const order: string[] = []
    const all = { idle, few0: few[0], few1: few[1], many0: many[0], many1: many[1], many2: many[2], busy }
    while (arrivals.makeRoom()) {
      for (const [name, client] of Object.entries(all)) {
        if (client?.isOpen === false && !order.includes(name)) order.push(name)
      }
    }
    expect(order.slice(0, 2)).toEqual(['many0', 'few0'])
    expect(order.at(-1)).toBe('idle')
    expect(order).toHaveLength(6)
    expect(busy.isOpen).toBeTrue()
  })

  test('Arrivals.makeRoom does not evict a client of a small network during its first second', () => {
    const { arrivals, connect, pass } = open(40)
    const client = connect('192.0.2.2')
    pass(999)
    expect(arrivals.makeRoom()).toBeFalse()
    pass(1)
    expect(arrivals.makeRoom()).toBeTrue()
    expect(client.isOpen).toBeFalse()
  })

  test('closed connections with open descriptors occupy connection slots', () => {
    const { arrivals, connect, linger } = open(40)
    linger(40)
    expect(arrivals.isFull).toBeFalse()
    expect(connect('192.0.2.1').isOpen).toBeTrue()
    expect(arrivals.isFull).toBeTrue()
    linger(48)
    expect(connect('192.0.2.2').isOpen).toBeFalse()
    expect(arrivals.pressure.turnedAway).toBe(1)
  })
})
