import type { SocketHandler } from 'bun'
import type { After } from '../../../../core/time.ts'
import type { Side } from '../side.ts'

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
