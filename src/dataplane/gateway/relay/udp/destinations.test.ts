import { beforeEach, describe, expect, test } from 'bun:test'
import { type Address, readAddress } from '../../../../core/address.ts'
import { SlotCounts, shippedUdp } from '../../access/limits.ts'
import type { Destinations } from '../../dial/destinations.ts'
import type { ConnectTarget } from '../../ways-in/authority.ts'
import { fewDestinations, UdpDestinations } from './destinations.ts'

const at = (text: string): Address => readAddress(text) as Address
const noReceipt = { settle() {} }
/** Lets every resolved promise have its effect. */
const allSettled = async (): Promise<void> => {
  for (let turns = 0; turns < 10; turns += 1) await Promise.resolve()
}
const bytes = (text: string): Uint8Array => Buffer.from(text)

describe('the destinations of an association', () => {
  let passed: string[]
  let judged: string[]
  let faults: unknown[]
  let mayReach: boolean
  /** Answers of the resolver, in the order of its questions. */
  let answers: PromiseWithResolvers<Destinations>[]
  let destinations: UdpDestinations
  let counts: SlotCounts

  const find = ({ host }: ConnectTarget): Destinations | Promise<Destinations> => {
    judged.push(host)
    const literal = readAddress(host)
    if (literal) return host.startsWith('10.') ? { refusal: 'destination_not_public' } : { addresses: [literal] }
    const answer = Promise.withResolvers<Destinations>()
    answers.push(answer)
    return answer.promise
  }

  beforeEach(() => {
    passed = []
    judged = []
    faults = []
    answers = []
    mayReach = true
    counts = new SlotCounts()
    destinations = open()
  })
  const open = (owner = 'anna', limits = shippedUdp.destinations) =>
    new UdpDestinations({
      find,
      counts,
      owner,
      limits: { idleMs: 120_000, destinations: limits },
      mayReachAnother: () => mayReach,
      receiptsOf: () => ({ sent: noReceipt, received: noReceipt }),
      pass: ({ address, target }, payload) =>
        void passed.push(`${address?.bytes.join('.')}:${target.port} ${Buffer.from(payload).toString()}`),
      onFault: (fault) => void faults.push(fault),
    })
  const findPeer = (address: Address, port: number, nowMs = 0) => destinations.findPeer(address, port, nowMs)
  const send = (host: string, text: string, nowMs = 0, port = 443): void =>
    destinations.send({ host, port }, bytes(text), nowMs)

  test('a literal destination is judged once in 30 s, and a refused one once in 5 s', () => {
    for (const nowMs of [0, 1000, 29_999]) send('1.2.3.4', 'a', nowMs)
    expect(judged).toEqual(['1.2.3.4'])
    send('1.2.3.4', 'b', 30_000)
    for (const nowMs of [30_000, 34_999, 35_000]) send('10.0.0.1', 'c', nowMs)
    expect(judged).toEqual(['1.2.3.4', '1.2.3.4', '10.0.0.1', '10.0.0.1'])
    expect(passed).toEqual(['1.2.3.4:443 a', '1.2.3.4:443 a', '1.2.3.4:443 a', '1.2.3.4:443 b'])
  })

  test('only an address and port that the client has sent to is a peer', () => {
    send('1.2.3.4', 'a')
    send('10.0.0.1', 'a')
    send('2001:db8::1', 'a')
    expect(findPeer(at('1.2.3.4'), 443)).toBeDefined()
    expect(findPeer(at('2001:db8::1'), 443)).toBeDefined()
    for (const [address, port] of [
      ['1.2.3.4', 80],
      ['1.2.3.5', 443],
      ['10.0.0.1', 443],
      ['2001:db8::2', 443],
    ] as const)
      expect(findPeer(at(address), port)).toBeUndefined()
  })

  test('datagrams wait for a name, at most 16 of them, and are copies', async () => {
    const payload = bytes('0')
    destinations.send({ host: 'a.example', port: 53 }, payload, 0)
    payload.fill(0)
    for (let index = 1; index < 20; index += 1) send('a.example', String(index), 0, 53)
    expect(judged).toEqual(['a.example'])
    answers[0]?.resolve({ addresses: [at('1.2.3.4'), at('1.2.3.5')] })
    await allSettled()
    expect(passed).toEqual(Array.from({ length: 16 }, (_, index) => `1.2.3.4:53 ${index}`))
    send('a.example', 'next', 1, 53)
    expect(passed.at(-1)).toBe('1.2.3.4:53 next')
  })

  test('a name that is judged again keeps its address while the name has it, and passes datagrams meanwhile', async () => {
    send('a.example', 'a')
    answers[0]?.resolve({ addresses: [at('1.2.3.4')] })
    await allSettled()
    send('a.example', 'b', 30_000)
    answers[1]?.resolve({ addresses: [at('1.2.3.5'), at('1.2.3.4')] })
    await allSettled()
    send('a.example', 'c', 30_001)
    send('a.example', 'd', 60_000)
    answers[2]?.resolve({ addresses: [at('1.2.3.5')] })
    await allSettled()
    send('a.example', 'e', 60_001)
    expect(passed).toEqual(['1.2.3.4:443 a', '1.2.3.4:443 b', '1.2.3.4:443 c', '1.2.3.4:443 d', '1.2.3.5:443 e'])
    expect(findPeer(at('1.2.3.4'), 443)).toBeUndefined()
  })

  test('datagrams for a name that is refused or whose lookup throws are dropped', async () => {
    send('denied.example', 'a')
    send('broken.example', 'b')
    answers[0]?.resolve({ refusal: 'destination_denied' })
    answers[1]?.reject(new Error('a bug'))
    await allSettled()
    send('denied.example', 'c', 1)
    expect([passed, faults.length]).toEqual([[], 1])
  })

  test('256 destinations are kept, and the least recently used one is forgotten first', () => {
    for (let index = 0; index < 256; index += 1) send(`1.2.3.${index}`, 'a', index)
    send('1.2.3.0', 'a', 1000)
    send('1.2.4.0', 'a', 1001)
    expect(destinations.size).toBe(256)
    expect(findPeer(at('1.2.3.1'), 443)).toBeUndefined()
    for (const kept of ['1.2.3.0', '1.2.3.2', '1.2.4.0']) expect(findPeer(at(kept), 443)).toBeDefined()
  })

  /** Opens an association that sends to `sent` destinations, and returns how many of them it remembers. */
  function fill(owner: string, sent: number, limits?: typeof shippedUdp.destinations): number {
    const opened = open(owner, limits)
    for (let index = 0; index < sent; index += 1) opened.send({ host: `1.2.3.${index}`, port: 443 }, bytes('a'), index)
    return opened.size
  }

  test('a customer with 10,000 destinations gets 16 in each new association, and other customers get 256', () => {
    for (let index = 0; index < 39; index += 1) expect(fill('anna', 256)).toBe(256)
    expect([fill('anna', 256), fill('anna', 256), fill('boris', 256)]).toEqual([16, 16, 256])
    expect([counts.of('anna'), counts.of('boris')]).toEqual([39 * 256 + 32, 256])
  })

  test('an association keeps 16 destinations while all customers together have as many as the gateway keeps', () => {
    const limits = { association: 256, customer: 30, gateway: 50 }
    expect([fill('anna', 30, limits), fill('boris', 30, limits), fill('clara', 30, limits)]).toEqual([30, 20, 16])
    expect(counts.total).toBe(30 + 20 + fewDestinations)
  })

  test('an association forgets a destination that was unused for 120 s, and its count ends with the association', () => {
    send('1.2.3.4', 'a', 0)
    send('1.2.3.5', 'a', 100_000)
    expect(findPeer(at('1.2.3.4'), 443, 119_999)).toBeDefined()
    send('1.2.3.6', 'a', 150_000)
    expect(findPeer(at('1.2.3.4'), 443, 150_000)).toBeUndefined()
    expect(findPeer(at('1.2.3.5'), 443, 150_000)).toBeDefined()
    expect(counts.of('anna')).toBe(2)
    destinations.close()
    expect([counts.of('anna'), counts.total]).toEqual([0, 0])
  })

  test('a destination still answers after a name with the same address is forgotten', async () => {
    send('1.2.4.1', 'a', 0)
    send('a.example', 'a', 1)
    answers[0]?.resolve({ addresses: [at('1.2.4.1')] })
    await allSettled()
    send('1.2.4.1', 'a', 2)
    expect(findPeer(at('1.2.4.1'), 443)?.target.host).toBe('a.example')
    for (let index = 0; index < 255; index += 1) send(`1.2.3.${index}`, 'a', 3)
    expect(findPeer(at('1.2.4.1'), 443)?.target.host).toBe('1.2.4.1')
  })

  test('a new destination beyond the rate of new connections is dropped, and a known one is not', () => {
    send('1.2.3.4', 'a')
    mayReach = false
    send('1.2.3.5', 'b')
    send('1.2.3.4', 'c')
    expect(passed).toEqual(['1.2.3.4:443 a', '1.2.3.4:443 c'])
  })

  test('nothing passes after the association has ended, also no datagram that waited for a name', async () => {
    send('a.example', 'a')
    destinations.close()
    answers[0]?.resolve({ addresses: [at('1.2.3.4')] })
    await allSettled()
    expect([passed, findPeer(at('1.2.3.4'), 443)]).toEqual([[], undefined])
  })
})
