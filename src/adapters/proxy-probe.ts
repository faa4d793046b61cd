import { connect, type Socket } from 'node:net'

export type ProbeTarget = { readonly host: string; readonly port: number }
export type ProbeOutcome = { readonly works: boolean; readonly tookMs: number | null; readonly problem: string | null }
type Credentials = { readonly portType: 'http' | 'socks'; readonly username: string; readonly password: string }

const limitMs = 10_000
const mostBytes = 16 * 1024

/** Opens a real tunnel through the gateway, in the proxy's own protocol, to a target that answers. */
export function createProxyProbe(gateway: ProbeTarget, target: () => ProbeTarget) {
  return async (proxy: Credentials): Promise<ProbeOutcome> => {
    const startedMs = performance.now()
    const socket = connect(gateway.port, gateway.host)
    const timer = setTimeout(() => socket.destroy(new Error(`no answer within ${limitMs / 1000} seconds`)), limitMs)
    try {
      const reader = new SocketReader(socket)
      await (proxy.portType === 'http' ? tunnel : socks)(socket, reader, proxy, target())
      return { works: true, tookMs: Math.round((performance.now() - startedMs) * 10) / 10, problem: null }
    } catch (error) {
      return { works: false, tookMs: null, problem: toProblem(error) }
    } finally {
      clearTimeout(timer)
      socket.destroy()
    }
  }
}

/** What a customer can make something of. */
function toProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ECONNREFUSED') return 'the gateway is not running'
  return error instanceof Error ? error.message : 'the connection failed'
}

/** RFC 9110, 9.3.6: CONNECT, with the credentials in Proxy-Authorization. */
async function tunnel(socket: Socket, reader: SocketReader, proxy: Credentials, target: ProbeTarget): Promise<void> {
  const authority = `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`
  const basic = Buffer.from(`${proxy.username}:${proxy.password}`).toString('base64')
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`)
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(await reader.line())?.[1]
  if (status !== '200') throw new Error(`the gateway answered ${status ?? 'something that is not HTTP'}`)
}

/** RFC 1928 with the user name and password of RFC 1929. */
async function socks(socket: Socket, reader: SocketReader, proxy: Credentials, target: ProbeTarget): Promise<void> {
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
  const reply = await reader.bytes(4)
  if (reply[1] !== 0) throw new Error(`the gateway refused the connection with reply ${reply[1]}`)
}

/** Bytes as they arrive, asked for by count or by line, and never more than a handshake needs. */
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

  async line(): Promise<string> {
    await this.until(() => this.buffer.includes('\r\n'))
    return this.take(this.buffer.indexOf('\r\n') + 2).toString('latin1')
  }

  private take(count: number): Buffer {
    const taken = this.buffer.subarray(0, count)
    this.buffer = this.buffer.subarray(count)
    return taken
  }

  private async until(ready: () => boolean): Promise<void> {
    while (!ready()) {
      if (this.buffer.length > mostBytes) throw new Error('the gateway answered too much')
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
