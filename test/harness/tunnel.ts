import { connect, type Socket } from 'node:net'
import { waitLimitMs } from './until.ts'

export type Login = { readonly username: string; readonly password: string } | undefined
export type Spot = { readonly host: string; readonly port: number }

/**
 * The outcome of an attempt: status 200 or 0 for an open connection, or the status and code of HTTP, or the SOCKS5
 * reply.
 */
export type Attempt = { readonly status: number; readonly code: string | undefined; readonly head: string }
export type Tunnel = {
  /** Sends, and waits for as many bytes in return. */
  echo(text: string): Promise<string>
  /** Reads so many bytes. */
  read(count: number): Promise<Buffer>
  readonly isOpen: boolean
  /** The closing time, in milliseconds since 1970. */
  readonly closedAt: Promise<number>
  close(): void
}

class Wire {
  private held = Buffer.alloc(0)
  private isOver = false
  private wake: () => void = () => {}
  readonly closedAt: Promise<number>

  constructor(readonly socket: Socket) {
    const { promise, resolve } = Promise.withResolvers<number>()
    this.closedAt = promise
    socket.on('data', (bytes: Uint8Array) => {
      this.held = Buffer.concat([this.held, bytes])
      this.wake()
    })
    socket.on('error', () => {})
    socket.on('end', () => socket.end())
    socket.on('close', () => {
      this.isOver = true
      resolve(Date.now())
      this.wake()
    })
  }

  get isOpen(): boolean {
    return !this.isOver
  }

  async read(count: number): Promise<Buffer> {
    await this.until(() => this.held.length >= count)
    return this.take(count)
  }

  async head(): Promise<string> {
    await this.until(() => this.held.includes('\r\n\r\n'))
    return this.take(this.held.indexOf('\r\n\r\n') + 4).toString('latin1')
  }

  private take(count: number): Buffer {
    const taken = this.held.subarray(0, count)
    this.held = this.held.subarray(count)
    return taken
  }

  private async until(isThere: () => boolean): Promise<void> {
    const giveUpAt = performance.now() + waitLimitMs
    while (!isThere()) {
      if (this.isOver) throw new Error(`closed after ${this.held.toString('latin1')}`)
      if (performance.now() > giveUpAt) throw new Error('nothing came')
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, waitLimitMs)
      this.wake = resolve
      await promise
      clearTimeout(timer)
    }
  }
}

async function dial(at: Spot): Promise<Wire> {
  const socket = connect({ port: at.port, host: at.host, allowHalfOpen: true })
  const wire = new Wire(socket)
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  return wire
}

const authorityOf = ({ host, port }: Spot): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

function basicOf(login: Login): string {
  if (!login) return ''
  const text = Buffer.from(`${login.username}:${login.password}`).toString('base64')
  return `Proxy-Authorization: Basic ${text}\r\n`
}

async function connectHttp(wire: Wire, login: Login, target: Spot): Promise<Attempt> {
  const authority = authorityOf(target)
  wire.socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${basicOf(login)}\r\n`)
  const head = await wire.head()
  return {
    head,
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0),
    code: /^x-turnpike-error: (\S+)/im.exec(head)?.[1],
  }
}

/** RFC 1928 and 1929. A status of 0 to 8 is the reply; 255 refuses the methods, and 254 the login. */
async function connectSocks(wire: Wire, login: Login, target: Spot): Promise<Attempt> {
  const no = await greetSocks(wire, login)
  return { status: no ?? (await requestSocks(wire, target)), code: undefined, head: '' }
}

async function greetSocks(wire: Wire, login: Login): Promise<number | undefined> {
  wire.socket.write(login ? Uint8Array.of(5, 1, 2) : Uint8Array.of(5, 1, 0))
  if ((await wire.read(2))[1] === 255) return 255
  if (!login) return undefined
  const [name, secret] = [Buffer.from(login.username), Buffer.from(login.password)]
  wire.socket.write(Buffer.concat([Uint8Array.of(1, name.length), name, Uint8Array.of(secret.length), secret]))
  return (await wire.read(2))[1] === 0 ? undefined : 254
}

async function requestSocks(wire: Wire, target: Spot): Promise<number> {
  const name = Buffer.from(target.host)
  const port = Uint8Array.of(target.port >> 8, target.port & 255)
  wire.socket.write(Buffer.concat([Uint8Array.of(5, 1, 0, 3, name.length), name, port]))
  const reply = await wire.read(4)
  await wire.read(reply[3] === 4 ? 18 : 6)
  return reply[1] ?? -1
}

/** Logs in over SOCKS5 without a request. */
export async function loginSocks(at: Spot, login: Login): Promise<{ ask(target: Spot): Promise<number> }> {
  const wire = await dial(at)
  const no = await greetSocks(wire, login)
  if (no !== undefined) throw new Error(`not let in: ${no}`)
  return { ask: (target) => requestSocks(wire, target) }
}

const connectBy = { http: connectHttp, socks: connectSocks }
export type ProxyProtocol = keyof typeof connectBy

/** Tries to connect, returns the outcome, and closes. */
export async function attempt(protocol: ProxyProtocol, at: Spot, login: Login, target: Spot): Promise<Attempt> {
  const wire = await dial(at)
  try {
    return await connectBy[protocol](wire, login, target)
  } finally {
    wire.socket.destroy()
  }
}

/** An open tunnel; any other outcome is an error. */
export async function openTunnel(protocol: ProxyProtocol, at: Spot, login: Login, target: Spot): Promise<Tunnel> {
  const wire = await dial(at)
  const { status, code } = await connectBy[protocol](wire, login, target)
  if (status !== 200 && status !== 0) throw new Error(`not let through: ${status} ${code}`)
  return {
    async echo(text) {
      wire.socket.write(text)
      return (await wire.read(Buffer.byteLength(text))).toString()
    },
    read: (count) => wire.read(count),
    get isOpen() {
      return wire.isOpen
    },
    closedAt: wire.closedAt,
    close: () => wire.socket.destroy(),
  }
}

/** Echoes all bytes, and records the source address of each connection. */
export function startEcho(hostname = '127.0.0.1') {
  const sources: string[] = []
  const listener = Bun.listen({
    hostname,
    port: 0,
    socket: {
      open: (socket) => void sources.push(socket.remoteAddress),
      data: (socket, bytes) => void socket.write(bytes),
    },
  })
  return { sources, spot: { host: hostname, port: listener.port }, stop: () => listener.stop(true) }
}
