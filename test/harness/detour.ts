import { connect, createServer, type Server, type Socket } from 'node:net'

/**
 * A TCP forwarder to a port of this machine that can be closed, opened and frozen. Closing resets its connections and
 * refuses new ones.
 */
export class Detour {
  private readonly sockets = new Set<Socket>()
  private server: Server | undefined

  constructor(
    readonly port: number,
    private readonly to: number,
  ) {}

  async open(): Promise<void> {
    const server = createServer((near) => {
      const far = connect(this.to, '127.0.0.1')
      for (const socket of [near, far]) this.keep(socket)
      near.pipe(far).pipe(near)
    })
    this.server = server
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve))
  }

  async close(): Promise<void> {
    const { server } = this
    for (const socket of this.sockets) socket.destroy()
    if (server) await new Promise((resolve) => server.close(resolve))
    this.server = undefined
  }

  /** Its present connections pass nothing more, in silence; new ones work. */
  freeze(): void {
    for (const socket of this.sockets) socket.unpipe().pause()
  }

  private keep(socket: Socket): void {
    this.sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.sockets.delete(socket))
  }
}
