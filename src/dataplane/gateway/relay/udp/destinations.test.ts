import { beforeEach, describe, expect, test } from 'bun:test'
import { type Address, readAddress } from '../../../../core/address.ts'
import type { Destinations } from '../../dial/destinations.ts'
import type { ConnectTarget } from '../../protocol/authority.ts'
import {
  type DestinationCount,
  fewDestinations,
  maxDestinations,
  maxTogether,
  UdpDestinations,
} from './destinations.ts'

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
  let count: DestinationCount

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
    count = { together: 0 }
    destinations = open()
  })
  const open = () =>
    new UdpDestinations({
      find,
      count,
      mayReachAnother: () => mayReach,
      receiptsOf: () => ({ sent: noReceipt, received: noReceipt }),
      pass: ({ address, target }, payload) =>
        void passed.push(`${address?.bytes.join('.')}:${target.port} ${Buffer.from(payload).toString()}`),
      onFault: (fault) => void faults.push(fault),
    })
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
    expect(destinations.findPeer(at('1.2.3.4'), 443)).toBeDefined()
    expect(destinations.findPeer(at('2001:db8::1'), 443)).toBeDefined()
    for (const [address, port] of [
      ['1.2.3.4', 80],
      ['1.2.3.5', 443],
      ['10.0.0.1', 443],
      ['2001:db8::2', 443],
    ] as const)
      expect(destinations.findPeer(at(address), port)).toBeUndefined()
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
    expect(destinations.findPeer(at('1.2.3.4'), 443)).toBeUndefined()
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
    for (let index = 0; index < maxDestinations; index += 1) send(`1.2.3.${index}`, 'a', index)
    send('1.2.3.0', 'a', 1000)
    send('1.2.4.0', 'a', 1001)
    expect(destinations.size).toBe(maxDestinations)
    expect(destinations.findPeer(at('1.2.3.1'), 443)).toBeUndefined()
    for (const kept of ['1.2.3.0', '1.2.3.2', '1.2.4.0']) expect(destinations.findPeer(at(kept), 443)).toBeDefined()
  })

  test('an association keeps 16 destinations while all associations together have 100,000', () => {
    for (let index = 0; index < 20; index += 1) send(`1.2.3.${index}`, 'a', index)
    expect([destinations.size, count.together]).toEqual([20, 20])
    destinations.close()
    expect(count.together).toBe(0)
    count.together = maxTogether
    const other = open()
    for (let index = 0; index < 20; index += 1) other.send({ host: `1.2.3.${index}`, port: 443 }, bytes('a'), index)
    expect([other.size, count.together]).toEqual([fewDestinations, maxTogether + fewDestinations])
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
    expect([passed, destinations.findPeer(at('1.2.3.4'), 443)]).toEqual([[], undefined])
  })
})
