import { connect, type Socket } from 'node:net'

export type ProbeOutcome = { readonly works: boolean; readonly tookMs: number | null; readonly problem: string | null }
export type ProbedProxy = {
  readonly portType: 'http' | 'socks'
  readonly username: string
  readonly password: string
  /** Where customers reach it. */
  readonly host: string
  readonly port: number
}
type Target = { readonly host: string; readonly port: number }
type Wire = { readonly socket: Socket; readonly reader: SocketReader }

const limitMs = 10_000
const maxBytes = 16 * 1024

/**
 * Opens a tunnel through a proxy to the gateway itself, which answers over IPv4 and IPv6. In production the gateway
 * refuses its own machine as a destination, but only after authentication, so that refusal proves the proxy as well.
 */
export async function probeProxy(proxy: ProbedProxy): Promise<ProbeOutcome> {
  const startedAt = performance.now()
  const sockets: Socket[] = []
  const open = (): Wire => {
    const socket = connect(proxy.port, proxy.host)
    sockets.push(socket)
    return { socket, reader: new SocketReader(socket) }
  }
  const giveUp = () => sockets.map((socket) => socket.destroy(new Error(`no answer within ${limitMs / 1000} seconds`)))
  const timer = setTimeout(giveUp, limitMs)
  try {
    await (proxy.portType === 'http' ? tryHttp : trySocks)(open, proxy, { host: 'localhost', port: proxy.port })
    return { works: true, tookMs: Math.round((performance.now() - startedAt) * 10) / 10, problem: null }
  } catch (error) {
    return { works: false, tookMs: null, problem: toProblem(error) }
  } finally {
    clearTimeout(timer)
    for (const socket of sockets) socket.destroy()
  }
}

function toProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ECONNREFUSED') return 'the gateway is not running'
  return error instanceof Error ? error.message : 'the connection failed'
}

/** RFC 9110, 9.3.6: CONNECT, with the credentials in Proxy-Authorization. */
async function tryHttp(open: () => Wire, proxy: ProbedProxy, { host, port }: Target): Promise<void> {
  const { socket, reader } = open()
  const basic = Buffer.from(`${proxy.username}:${proxy.password}`).toString('base64')
  const authority = `${host}:${port}`
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`)
  const head = await reader.head()
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1]
  const code = /^x-turnpike-error: (\w+)/im.exec(head)?.[1]
  if (status === '200' || (status === '403' && code?.startsWith('destination_'))) return
  const why = code === undefined ? '' : ` (${code})`
  throw new Error(`the gateway answered ${status ?? 'something that is not HTTP'}${why}`)
}

/** RFC 1928, 6. */
const forbidden = 2
const notFound = 4
/** Reserved by RFC 6761, 6.4: never found. */
const nowhere: Target = { host: 'check.invalid', port: 80 }

/** A SOCKS5 reply does not tell a forbidden destination from a refused customer; `notFound` follows authentication. */
async function trySocks(open: () => Wire, proxy: ProbedProxy, target: Target): Promise<void> {
  const reply = await socks(open(), proxy, target)
  if (reply === 0) return
  if (reply === forbidden && (await socks(open(), proxy, nowhere)) === notFound) return
  throw new Error(`the gateway refused the connection with reply ${reply}`)
}

/** RFC 1928 with the user name and password of RFC 1929. */
async function socks({ socket, reader }: Wire, proxy: ProbedProxy, target: Target): Promise<number> {
  socket.write(Uint8Array.of(5, 1, 2))
  const method = await reader.bytes(2)
  if (method[0] !== 5 || method[1] !== 2) throw new Error('the gateway does not take a user name and password')
  const user = Buffer.from(proxy.username)
  const password = Buffer.from(proxy.password)
  socket.write(Buffer.concat([Uint8Array.of(1, user.length), user, Uint8Array.of(password.length), password]))
  if ((await reader.bytes(2))[1] !== 0) throw new Error('the gateway refused the user name and password')
  const host = Buffer.from(target.host)
  const port = Uint8Array.of(target.port >> 8, target.port & 255)
  socket.write(Buffer.concat([Uint8Array.of(5, 1, 0, 3, host.length), host, port]))
  return (await reader.bytes(4))[1] ?? -1
}

/** Reads bytes by count or up to the end of a head, at most 16 KiB. */
class SocketReader {
  private buffer = Buffer.alloc(0)
  private failure: Error | undefined
  private wake: () => void = () => {}

  constructor(socket: Socket) {
    socket.on('data', (chunk: Uint8Array) => {
      this.buffer = Buffer.concat([this.buffer, chunk])
      this.wake()
    })
    socket.on('error', (error) => this.fail(error))
    socket.on('close', () => this.fail(new Error('the gateway closed the connection')))
  }

  async bytes(count: number): Promise<Buffer> {
    await this.until(() => this.buffer.length >= count)
    return this.take(count)
  }

  async head(): Promise<string> {
    await this.until(() => this.buffer.includes('\r\n\r\n'))
    return this.take(this.buffer.indexOf('\r\n\r\n') + 4).toString('latin1')
  }

  private take(count: number): Buffer {
    const taken = this.buffer.subarray(0, count)
    this.buffer = this.buffer.subarray(count)
    return taken
  }

  private async until(ready: () => boolean): Promise<void> {
    while (!ready()) {
      if (this.buffer.length > maxBytes) throw new Error('the gateway answered too much')
      if (this.failure) throw this.failure
      await new Promise<void>((resolve) => {
        this.wake = resolve
      })
    }
  }

  private fail(error: Error): void {
    this.failure ??= error
    this.wake()
  }
}
