import { ptr } from 'bun:ffi'
import { afterAll, describe, expect, test } from 'bun:test'
import { until } from '../../../../test/harness/until.ts'
import { Kernel } from './kernel.ts'
import { makeDirect, openLibc } from './libc.ts'
import { EAGAIN, IPPROTO_TCP, TCP_INFO } from './numbers.ts'
import type { Processor } from './structures.ts'

const loopback = { version: 4, bytes: Uint8Array.of(127, 0, 0, 1) } as const
/** `tcpi_segs_out` of `struct tcp_info`. */
const segmentsOutAt = 136
const tries = 10
const processor = process.arch as Processor
const libc = openLibc()

const opened: number[] = []
afterAll(() => {
  for (const descriptor of opened) libc.close(descriptor)
})

/** The first result of a call that is not EAGAIN. */
async function outcomeOf(call: () => number): Promise<number> {
  let outcome = -EAGAIN
  await until(() => {
    outcome = call()
    return outcome !== -EAGAIN
  })
  return outcome
}

/** Two ends of a new connection, after the client has sent `text`: the kernel defers the connect until then. */
async function openConnection(kernel: Kernel, listener: number, text: string) {
  const client = kernel.connect(loopback, kernel.portOf(listener), loopback, true)
  opened.push(client)
  expect(await outcomeOf(() => kernel.send(client, Buffer.from(text)))).toBe(text.length)
  const server = await outcomeOf(() => kernel.accept(listener))
  opened.push(server)
  expect(await outcomeOf(() => kernel.peek(server))).toBe(1)
  return { client, server }
}

function segmentsSentBy(descriptor: number): number {
  const info = new Uint8Array(new ArrayBuffer(256))
  const length = Uint32Array.of(info.length)
  expect(libc.getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, Number(ptr(info)), Number(ptr(length)))).toBe(0)
  return new DataView(info.buffer).getUint32(segmentsOutAt, true)
}

/** Packets sent to a client after its first bytes and before any answer. */
async function packetsForFirstBytes(kernel: Kernel, listener: number): Promise<number> {
  const { server } = await openConnection(kernel, listener, 'CONNECT ')
  return segmentsSentBy(server)
}

describe('delayed acknowledgement of a request', () => {
  const kernel = new Kernel(libc, processor)

  test.each(['opened here', 'handed over'])(
    'the kernel sends no separate ACK for a request on a port %s in at least one of 10 tries',
    async (origin) => {
      const listener = kernel.listen(loopback, 0, 16)
      opened.push(listener)
      if (origin === 'handed over') expect(kernel.adopt(listener, 16)).toBe(0)
      const packets: number[] = []
      // The kernel acknowledges after 40 ms without an answer, so a slow machine tries again.
      while (packets.length < tries && !packets.includes(0)) packets.push(await packetsForFirstBytes(kernel, listener))
      expect(packets).toContain(0)
    },
  )
})

test('raw system calls accept, receive, send and close a connection, and return errors as negative numbers', async () => {
  const kernel = new Kernel(makeDirect(libc, processor), processor)
  const listener = kernel.listen(loopback, 0, 16)
  opened.push(listener)
  const { client, server } = await openConnection(kernel, listener, 'there')
  expect(kernel.acceptedFrom()).toBe('127.0.0.1')
  expect(kernel.receive(server, 100)).toBe(5)
  expect(kernel.receive(server, 100)).toBe(-EAGAIN)
  expect(Buffer.from(kernel.received.subarray(0, 5)).toString()).toBe('there')
  expect(kernel.pass(server, 5, false)).toBe(5)
  expect(await outcomeOf(() => kernel.receive(client, 100))).toBe(5)
  const third = kernel.duplicate(client)
  kernel.close(third)
  expect(kernel.receive(third, 100)).toBe(-9)
})
