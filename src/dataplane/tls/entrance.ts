import type { Log } from '../../core/log.ts'
import type { Clock } from '../../core/time.ts'
import { Bridge, innerHandlers } from './bridge.ts'
import type { Certificate } from './certificate.ts'
import { type Front, openFront } from './front.ts'
import type { TlsSocket } from './tls-socket.ts'

export type Entrance = Front & {
  /** The client behind a plain connection that comes from this port of loopback; undefined for a stranger. */
  readonly clientOf: (port: number) => Bridge | undefined
}

/**
 * An entrance over TLS to a server of this process that listens on loopback. The server asks it who is behind a
 * connection: whoever else on this machine finds the port is nobody.
 */
export function openEntrance(deps: {
  readonly hostname: string
  readonly port: number
  readonly certificate: () => Certificate | undefined
  readonly most: number
  readonly now?: Clock
  /** Where the server is; it may open later than the entrance. */
  readonly inner: () => number
  readonly log: Log
}): Entrance {
  const clients = new Map<number, Bridge>()
  const onFault = (fault: unknown): void => deps.log.error('fault', { fault })

  function join(tls: TlsSocket): void {
    const bridge = new Bridge(tls)
    const handlers = {
      ...innerHandlers,
      open(socket: Parameters<NonNullable<typeof innerHandlers.open>>[0]) {
        clients.set(socket.localPort, bridge)
        bridge.onInnerOpen(socket)
      },
      close(socket: Parameters<NonNullable<typeof innerHandlers.close>>[0]) {
        clients.delete(socket.localPort)
        bridge.onInnerClose()
      },
    }
    const options = { hostname: '127.0.0.1', port: deps.inner(), allowHalfOpen: true, data: bridge, socket: handlers }
    void Bun.connect<Bridge>(options).catch((fault: unknown) => {
      onFault(fault)
      bridge.breakOff()
    })
  }

  const front = openFront({ ...deps, isMakingRoom: true, onTls: join, onFault })
  return Object.assign(front, { clientOf: (port: number) => clients.get(port) })
}
