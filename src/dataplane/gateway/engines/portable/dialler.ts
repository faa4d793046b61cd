import type { Socket, SocketHandler } from 'bun'
import type { After } from '../../../../core/time.ts'
import type { NodeGateway } from '../../../../node-protocol/state.ts'
import { connectDescriptor } from '../../../tls/tls-socket.ts'
import type { Connected, Dialler } from '../../dial/upstream.ts'
import { createConverse, ignoringOwner, Side, type SideAround } from '../../sides/side.ts'
import type { Sockets } from '../../sides/sockets.ts'
import { toSideSocket } from '../../sides/tls-client.ts'
import { connectRefusalOf } from '../../system/kernel.ts'
import type { ConnectTarget } from '../../ways-in/authority.ts'
import type { RefusalCode } from '../../ways-in/refusals.ts'
import type { EngineDeps } from '../shared/engine.ts'
import { hasTls } from '../shared/hop-client.ts'

export const after: After = (ms, act) => {
  const timer = setTimeout(act, ms)
  return () => clearTimeout(timer)
}

/** Shared by all sockets; `data` is the side. */
export const handlers: SocketHandler<Side> = {
  data: (socket, chunk) => socket.data.onSocketData(chunk),
  drain: (socket) => socket.data.onSocketDrain(),
  end: (socket) => socket.data.onSocketEnd(),
  close: (socket) => socket.data.onSocketClose(),
  // A reset is followed by close.
  error: () => {},
}

/** Abandoned connection attempts that Bun cannot cancel; the kernel ends them after a minute or two. */
const maxGivenUp = 1000

export function createDialler(around: SideAround, sockets: Sockets, openHop?: EngineDeps['openHop']): Dialler<Side> {
  const { connect: begin } = sockets
  const connect = begin ? connectBy(begin) : connectWithBun()
  return {
    isDeliveredHere: sockets.openRoutes?.(),
    connect: (there, from, maxMs) => connect(new Side(ignoringOwner, around), there, from, maxMs),
    connectHop: openHop && ((gateway) => connectHop(around, openHop, gateway)),
    converse: createConverse(around.after),
  }
}

function connectHop(
  around: SideAround,
  openHop: NonNullable<EngineDeps['openHop']>,
  gateway: NodeGateway,
): Connected<Side> {
  if (!hasTls(gateway)) return { refusal: 'unreachable' }
  const side = new Side(ignoringOwner, around)
  const line = openHop(gateway)
  line.owner = side
  side.attach(toSideSocket(line, 0))
  side.pause()
  return { origin: side }
}

type Connect = (side: Side, there: ConnectTarget, from: string | undefined, maxMs: number) => Promise<Connected<Side>>

/** The kernel connects; Bun adopts the descriptor, drains once connected, closes on failure. */
const connectBy =
  (begin: NonNullable<Sockets['connect']>): Connect =>
  (side, there, from, maxMs) => {
    const descriptor = begin(there, from)
    if (descriptor < 0) return Promise.resolve({ refusal: connectRefusalOf(-descriptor) })
    return new Promise((resolve) => {
      let isKnown = false
      const give = (connected: Connected<Side>): void => {
        isKnown = true
        cancel()
        resolve(connected)
      }
      const cancel = after(maxMs, () => {
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
      void connectDescriptor(descriptor, { data: side, socket })
    })
  }

/** Paused at once, so that no bytes are lost before there is an owner. */
function connectWithBun(): Connect {
  let givenUp = 0
  return (side, there, from, maxMs) => {
    if (givenUp >= maxGivenUp) return Promise.resolve({ refusal: 'gateway_full' })
    return new Promise((resolve) => {
      let isLate = false
      const cancel = after(maxMs, () => {
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

export const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '')

export function toRefusal(error: unknown): RefusalCode {
  const code = codeOf(error)
  if (code === 'ECONNREFUSED') return 'connect_refused'
  if (code === 'ETIMEDOUT') return 'connect_timeout'
  return code === 'EADDRNOTAVAIL' || code === 'EADDRINUSE' ? 'address_unavailable' : 'unreachable'
}
