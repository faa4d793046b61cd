import { expect, test } from 'bun:test'
import type { TlsOwner, TlsSocket } from '../../../tls/tls-socket.ts'
import type { TlsClient } from '../../sides/tls-client.ts'
import { vless } from '../../ways-in/vless/request.ts'
import { toCloseFrame } from '../../ways-in/websocket/frames.ts'
import { AnswerWriter } from '../answer.ts'
import { FairBudget } from '../fair-budget.ts'
import { WebSocketCarrier } from './websocket.ts'

/** A masked Close frame with a mask of zeros. */
const clientClose = Uint8Array.of(0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8)
const closeFrame = [...toCloseFrame()]
const grace = 2000
const untilReset = 30_000

/** A WebSocket whose device has shown its key, with its connection and a clock that the test moves. */
function openCarried() {
  const seen = { sent: [] as number[], end: 'open', accepts: Number.POSITIVE_INFINITY }
  const timers = new Set<{ readonly at: number; readonly act: () => void }>()
  let now = 0
  const tls: Partial<TlsSocket> & { isClosed: boolean; owner: TlsOwner | undefined } = {
    owner: undefined,
    isClosed: false,
    source: '203.0.113.1',
    fd: -1,
    write(bytes) {
      const taken = bytes.subarray(0, seen.accepts)
      seen.accepts -= taken.length
      seen.sent.push(...taken)
      return taken.length
    },
    end: () => void (seen.end = 'ended'),
    terminate: () => void (seen.end = 'reset'),
    pause() {},
    resume() {},
  }
  const waiting = new FairBudget({ all: 1024, ofPrefix: 128 })
  const clients: TlsClient[] = []
  const socket = tls as TlsSocket
  const carrier = new WebSocketCarrier(
    socket,
    new AnswerWriter(
      socket,
      waiting.open('one', () => {}),
    ),
    'one',
    {
      findKeyed: () => ({ device: 'one', protocol: vless }),
      handOver: (client) => void clients.push(client),
      after(ms, act) {
        const timer = { at: now + ms, act }
        timers.add(timer)
        return () => void timers.delete(timer)
      },
      waiting,
      sockets: { watch: () => undefined, acknowledged: () => undefined, narrow() {}, widen() {}, limitUnsent() {} },
    },
  )
  carrier.start(new Uint8Array(0), new Uint8Array(17), new Uint8Array(0))
  const [client] = clients
  if (!client) throw new Error('the carrier handed nothing over')
  // The engine: it releases the client once both sides have ended.
  client.owner = { onSocketData() {}, onSocketDrain() {}, onSocketEnd: () => client.end(), onSocketClose() {} }
  client.resume()
  return {
    seen,
    client,
    owner: carrier as TlsOwner,
    pass: (ms: number): void => {
      now += ms
      for (const timer of [...timers].filter(({ at }) => at <= now)) {
        timers.delete(timer)
        timer.act()
      }
    },
  }
}

test('a WebSocket sends its Close frame 2 s after the last byte, and resets a client that answers none within 30 s', () => {
  const { seen, client, pass } = openCarried()
  client.write(Uint8Array.of(7))
  client.shutdown()
  const data = [0x82, 1, 7]
  pass(grace - 1)
  expect(seen).toMatchObject({ sent: data, end: 'open' })
  pass(1)
  expect(seen).toMatchObject({ sent: [...data, ...closeFrame], end: 'open' })
  pass(untilReset - 1)
  expect(seen.end).toBe('open')
  pass(1)
  expect(seen.end).toBe('reset')
})

test('a WebSocket ends at once when its client has ended', () => {
  for (const endClient of [
    ({ owner }: ReturnType<typeof openCarried>) => owner.onSocketEnd(),
    ({ owner }: ReturnType<typeof openCarried>) => owner.onSocketData(clientClose),
  ]) {
    const carried = openCarried()
    carried.client.shutdown()
    endClient(carried)
    expect(carried.seen).toMatchObject({ sent: closeFrame, end: 'ended' })
  }
})

test('a WebSocket counts the 2 s from the byte that the socket takes last, and ends after its Close frame', () => {
  const { seen, client, owner, pass } = openCarried()
  seen.accepts = 2
  client.write(Uint8Array.of(7))
  client.end()
  pass(grace)
  expect(seen.sent).toEqual([0x82, 1])
  seen.accepts = Number.POSITIVE_INFINITY
  owner.onSocketDrain()
  pass(grace - 1)
  expect(seen).toMatchObject({ sent: [0x82, 1, 7], end: 'open' })
  pass(1)
  expect(seen).toMatchObject({ sent: [0x82, 1, 7, ...closeFrame], end: 'ended' })
})

test('a WebSocket whose end waits is reset after 30 s if its client reads nothing', () => {
  const { seen, client, pass } = openCarried()
  seen.accepts = 0
  client.write(Uint8Array.of(7))
  client.end()
  pass(untilReset)
  expect(seen.end).toBe('reset')
})
