import type { Socket, SocketHandler } from 'bun'
import type { After } from '../../../../core/time.ts'
import type { RefusalCode } from '../../access/refusals.ts'
import type { Connected, Dialler } from '../../dial/dial.ts'
import type { Target } from '../../protocol/authority.ts'
import { connectRefusalOf } from '../linux/kernel.ts'
import { createConverse, patient, Side, type SideAround } from '../side.ts'
import type { Sockets } from '../sockets.ts'

/** Bun's own timers. */
export const after: After = (ms, act) => {
  const timer = setTimeout(act, ms)
  return () => clearTimeout(timer)
}

/** Handlers shared by all sockets: each finds its side in the socket. */
export const handlers: SocketHandler<Side> = {
  data: (socket, chunk) => socket.data.onSocketData(chunk),
  drain: (socket) => socket.data.onSocketDrain(),
  end: (socket) => socket.data.onSocketEnd(),
  close: (socket) => socket.data.onSocketClose(),
  // A reset is followed by close, which says all there is to say.
  error: () => {},
}

/** Connections that were given up and that Bun cannot be told to give up. The system does so after a minute or two. */
const mostGivenUp = 1000

/** Dials with Bun's sockets. */
export function createDialler(around: SideAround, sockets: Sockets): Dialler<Side> {
  const { connect: begin } = sockets
  const connect = begin ? connectBy(begin) : connectWithBun()
  return {
    isDeliveredHere: sockets.openRoutes?.(),
    connect: (there, from, mostMs) => connect(new Side(patient, around), there, from, mostMs),
    converse: createConverse(around.after),
  }
}

type Connect = (side: Side, there: Target, from: string | undefined, mostMs: number) => Promise<Connected<Side>>

/**
 * The system begins to connect, and Bun looks after the descriptor from then on: it can be written to once it is
 * connected, and is closed when that has failed. Given up, it is closed at once, so that nothing is left of it.
 */
const connectBy =
  (begin: NonNullable<Sockets['connect']>): Connect =>
  (side, there, from, mostMs) => {
    const descriptor = begin(there, from)
    if (descriptor < 0) return Promise.resolve({ refusal: connectRefusalOf(-descriptor) })
    return new Promise((resolve) => {
      let isKnown = false
      const give = (connected: Connected<Side>): void => {
        isKnown = true
        cancel()
        resolve(connected)
      }
      const cancel = after(mostMs, () => {
        give({ refusal: 'connect_timeout' })
        side.abort()
      })
      const socket = {
        ...handlers,
        open(opened: Socket<Side>) {
          side.attach(opened)
          side.pause()
        },
        drain() {
          if (isKnown) side.onSocketDrain()
          else give({ origin: side })
        },
        close(_: Socket<Side>, error?: Error) {
          if (!isKnown) give({ refusal: toRefusal(error) })
          side.onSocketClose()
        },
      }
      void Bun.connect<Side>({ fd: descriptor, allowHalfOpen: true, data: side, socket } as never)
    })
  }

/** One connection, paused as soon as it is there: nothing is lost before somebody listens. */
function connectWithBun(): Connect {
  let givenUp = 0
  return (side, there, from, mostMs) => {
    if (givenUp >= mostGivenUp) return Promise.resolve({ refusal: 'gateway_full' })
    return new Promise((resolve) => {
      let isLate = false
      const cancel = after(mostMs, () => {
        isLate = true
        givenUp += 1
        resolve({ refusal: 'connect_timeout' })
      })
      const options = {
        hostname: there.host,
        port: there.port,
        ...(from !== undefined && { localAddress: from }),
        allowHalfOpen: true,
        data: side,
        socket: {
          ...handlers,
          open(socket: Parameters<Side['attach']>[0]) {
            side.attach(socket)
            if (isLate) side.abort()
            else side.pause()
          },
          connectError() {},
        },
      }
      void Bun.connect<Side>(options)
        .then((): Connected<Side> => ({ origin: side }))
        .catch((error: unknown): Connected<Side> => ({ refusal: toRefusal(error) }))
        .then(resolve)
        .finally(() => {
          cancel()
          if (isLate) givenUp -= 1
        })
    })
  }
}

function toRefusal(error: unknown): RefusalCode {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ECONNREFUSED') return 'connect_refused'
  if (code === 'ETIMEDOUT') return 'connect_timeout'
  return code === 'EADDRNOTAVAIL' || code === 'EADDRINUSE' ? 'address_unavailable' : 'unreachable'
}
