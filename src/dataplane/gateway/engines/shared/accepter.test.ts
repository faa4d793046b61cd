import { afterEach, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import fc from 'fast-check'
import { until, waitLimitMs } from '../../../../../test/harness/until.ts'
import { WireClient } from '../../../../../test/harness/wire-client.ts'
import { readAddress } from '../../../../core/address.ts'
import { openKernel } from '../../system/kernel.ts'
import { createAccepter, isWholeHello } from './accepter.ts'

/** A ClientHello of so many bytes, cut into records at the given places. */
function toRecords(bodyBytes: number, cuts: readonly number[]): Uint8Array {
  const body = Array.from({ length: bodyBytes }, (_, index) => index % 256)
  const message = [1, 0, bodyBytes >> 8, bodyBytes & 255, ...body]
  const places = [0, ...new Set(cuts.map((each) => each % message.length)), message.length].toSorted((a, b) => a - b)
  const parts = places.slice(1).map((end, index) => message.slice(places[index], end))
  const records = parts.filter((part) => part.length > 0)
  return Uint8Array.from(records.flatMap((part) => [22, 3, 1, part.length >> 8, part.length & 255, ...part]))
}

test('isWholeHello is false for every beginning of a ClientHello in any records, and true for all of it', () => {
  const cuts = fc.array(fc.nat(), { maxLength: 5 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3000 }), cuts, fc.nat(), (bodyBytes, places, end) => {
      const bytes = toRecords(bodyBytes, places)
      expect(isWholeHello(bytes)).toBe(true)
      expect(isWholeHello(bytes.subarray(0, end % bytes.length))).toBe(false)
    }),
  )
})

test.each([
  ['plain HTTP', Buffer.from('GET / HTTP/1.1')],
  ['an alert', Uint8Array.of(21, 3, 1, 0, 2, 1, 0)],
  ['an empty record', Uint8Array.of(22, 3, 1, 0, 0)],
  ['a record longer than TLS allows', Uint8Array.of(22, 3, 1, 0xff, 0xff, 1)],
  ['a message longer than 16 KiB', Uint8Array.of(22, 3, 1, 0x10, 0, 1, 1, 0, 0)],
])('isWholeHello hands %s on, for TLS to refuse', (_, bytes) => {
  expect(isWholeHello(bytes)).toBe(true)
})

const atEnd: (() => void)[] = []
afterEach(() => {
  for (const act of atEnd.splice(0)) act()
})

/** A port that hands connections on when their ClientHello is whole; at most four wait. */
function openPort() {
  const kernel = openKernel()
  const accepted: string[] = []
  const accepter = createAccepter(
    (descriptor, source) => {
      accepted.push(source)
      kernel.close(descriptor)
    },
    { reactors: [], isSticky: false, maxAwaiting: 4 },
  )
  const listener = kernel.listen(readAddress('127.0.0.1') ?? expect.unreachable(), 0, 16)
  const listening = accepter.open(listener, kernel.portOf(listener))
  atEnd.push(() => {
    listening.stop()
    accepter.end()
  })
  async function connect(from: string): Promise<WireClient> {
    const client = await WireClient.connect(listening.port, '127.0.0.1', from)
    atEnd.push(() => client.close())
    return client
  }
  return { accepted, connect }
}

test('beyond the limit, the accepter closes the oldest of the network with most connections without a ClientHello', async () => {
  const { accepted, connect } = openPort()
  const hello = toRecords(300, [])
  const honest = await connect('127.9.9.9')
  await honest.send(hello.subarray(0, 100))
  const crowd: WireClient[] = []
  for (let each = 0; each < 10; each += 1) crowd.push(await connect('127.8.8.8'))
  await until(() => crowd.filter((each) => each.isClosed).length === 7)
  expect(crowd.slice(7).some((each) => each.isClosed)).toBe(false)
  await honest.send(hello.subarray(100))
  await until(() => accepted.length === 1)
  expect(accepted).toEqual(['127.9.9.9'])
})

test('the accepter hands a ClientHello on that comes byte by byte, before it is whole', async () => {
  const { accepted, connect } = openPort()
  const slow = await connect('127.9.9.9')
  const hello = toRecords(300, [])
  for (let sent = 0; sent < 20; sent += 1) {
    await slow.send(hello.subarray(sent, sent + 1))
    // Another client's ClientHello is accepted later than the byte is seen.
    const other = await connect('127.8.8.8')
    await other.send(hello)
    await until(() => accepted.filter((source) => source === '127.8.8.8').length > sent)
  }
  expect(accepted).toContain('127.9.9.9')
})

test('the accepter leaves connections in the kernel while more than 512 are not taken, and accepts all of them later', async () => {
  const kernel = openKernel()
  const address = readAddress('127.0.0.1') ?? expect.unreachable()
  const countDescriptors = (): number => readdirSync('/proc/self/fd').length
  let accepted = 0
  const accepter = createAccepter((descriptor) => {
    accepted += 1
    kernel.close(descriptor)
  })
  const listener = kernel.listen(address, 0, 16)
  const listening = accepter.open(listener, kernel.portOf(listener))
  const first = kernel.connect(address, listening.port, undefined, false)
  await until(() => accepted === 1)
  kernel.close(first)
  const before = countDescriptors()
  // No turn of this thread's event loop until the accepter pauses, so that it takes no connection.
  const clients = Array.from({ length: 2000 }, () => kernel.connect(address, listening.port, undefined, false))
  const countUntaken = (): number => countDescriptors() - before - clients.length
  const giveUpAt = performance.now() + waitLimitMs
  while (countUntaken() <= 512 && performance.now() < giveUpAt) Bun.sleepSync(1)
  // 64 are accepted at a time. Further ones follow after pauses of 1 s.
  const looks = Array.from({ length: 100 }, countUntaken)
  expect(Math.min(...looks)).toBeGreaterThan(512)
  expect(Math.max(...looks)).toBeLessThan(2000)
  await until(() => accepted === 2001)
  for (const client of clients) kernel.close(client)
  // Descriptors of tests before may have been closed meanwhile.
  expect(countDescriptors()).toBeLessThanOrEqual(before)
  listening.stop()
  accepter.end()
})
