import { expect, test } from 'bun:test'
import { HandClock } from '../../../../../test/harness/clock.ts'
import type { Access } from '../../access/admission.ts'
import { ignoringOwner, Side } from '../../sides/side.ts'
import type { SideSocket } from '../../sides/side-socket.ts'
import { MuxReader } from '../../ways-in/vless/mux.ts'
import { createOpenMux, type MuxDeps } from './session.ts'

const unused = (): never => expect.unreachable()

/** A session of a device whose client takes `room` bytes. */
function openSession() {
  const client = { room: 0, isPaused: false, received: [] as Uint8Array[] }
  const socket = {
    localPort: 0,
    write(bytes: Uint8Array) {
      const taken = bytes.slice(0, client.room)
      client.room -= taken.length
      client.received.push(taken)
      return taken.length
    },
    shutdown() {},
    end() {},
    terminate() {},
    pause: () => void (client.isPaused = true),
    resume: () => void (client.isPaused = false),
    setNoDelay() {},
    follow: () => undefined,
  } satisfies SideSocket
  const around = { after: () => () => {}, noteHeld() {} }
  const side = new Side(ignoringOwner, around)
  side.attach(socket)
  const open = createOpenMux({
    tunnels: { open: unused },
    associations: undefined as never,
    startRelay: unused,
    open: { add() {}, remove() {} } as never,
    limits: { enter: () => undefined, leave() {} } as never,
    closedFor: () => undefined,
    sockets: undefined as never,
    around,
    clock: new HandClock().read,
    onFault: unused,
  } satisfies MuxDeps)
  const session = open({ owner: 'c', key: 'd' } as unknown as Access, side)
  if ('refusal' in session) return expect.unreachable()
  session.start(new Uint8Array())
  return { client, side, session }
}

test('a client that reads nothing is not read any more after 256 ends of sub-streams, and gets each once it reads', () => {
  const { client, side, session } = openSession()
  // Frames of sub-streams that do not exist: each is answered with an end.
  const frames = Buffer.concat(Array.from({ length: 2000 }, (_, id) => Buffer.from([0, 4, id >> 8, id & 255, 2, 0])))
  let sent = 0
  for (; sent < frames.length && !client.isPaused; sent += 600) session.onData(frames.subarray(sent, sent + 600))
  expect([client.isPaused, sent <= 3600]).toEqual([true, true])
  for (let round = 0; round < 10; round += 1) session.onData(frames.subarray(0, 600))
  expect(side.heldBytes).toBeLessThan(100)

  client.room = 1_000_000
  side.onSocketDrain()
  expect([client.isPaused, side.heldBytes]).toEqual([false, 0])
  const ended: number[] = []
  const reader = new MuxReader()
  for (const bytes of client.received) reader.feed(bytes, ({ id, status }) => status === 'end' && ended.push(id))
  expect([...new Set(ended)].toSorted((a, b) => a - b)).toEqual(Array.from({ length: sent / 6 }, (_, id) => id))
})
