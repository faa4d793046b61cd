import type { Socket } from 'bun'
import { waitLimitMs } from './until.ts'

/** The bytes received on a connection, and whether the peer closed it. */
export type ReadResult = { readonly bytes: Buffer; readonly hasEnded: boolean }

const breath = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A client that sends raw bytes, half-closes, resets or stops reading on request. */
export class RawClient {
  hasEnded = false
  isClosed = false
  private received: Buffer[] = []
  private length = 0
  private held: Buffer = Buffer.alloc(0)
  private wake: (() => void) | undefined
  private socket: Socket<unknown> | undefined

  private constructor() {}

  static async open(port: number, from?: string, hostname = '127.0.0.1'): Promise<RawClient> {
    const client = new RawClient()
    const options = {
      hostname,
      port,
      // Bun supports this option without declaring it.
      ...(from !== undefined && { localAddress: from }),
      allowHalfOpen: true,
      socket: {
        data: (_: Socket, bytes: Uint8Array) => client.take(bytes),
        drain: () => client.flush(),
        end: () => client.end(),
        close: () => client.close(),
        error() {},
      },
    }
    const socket = await Bun.connect(options)
    socket.setNoDelay(true)
    client.socket = socket
    return client
  }

  /** All bytes received so far. */
  get bytes(): Buffer {
    if (this.received.length > 1) this.received = [Buffer.concat(this.received)]
    return this.received[0] ?? Buffer.alloc(0)
  }

  get text(): string {
    return this.bytes.toString('latin1')
  }

  get receivedBytes(): number {
    return this.length
  }

  /** The number of bytes that could not be sent yet. */
  get unsent(): number {
    return this.held.length
  }

  send(bytes: string | Uint8Array): void {
    const added = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : Buffer.from(bytes)
    this.held = this.held.length > 0 ? Buffer.concat([this.held, added]) : added
    this.flush()
  }

  /** Writes each byte separately, with a turn of the event loop between, so that the gateway reads them one by one. */
  async sendSlowly(bytes: string): Promise<void> {
    for (const character of bytes) {
      if (this.isClosed || this.hasEnded) return
      this.send(character)
      await breath()
    }
  }

  finish(): void {
    this.socket?.shutdown()
  }

  reset(): void {
    this.socket?.terminate()
  }

  pause(): void {
    this.socket?.pause()
  }

  resume(): void {
    this.socket?.resume()
  }

  /** Waits until enough has arrived, or the peer has closed. False at the time limit. */
  async readUntil(isEnough: (text: string) => boolean, maxMs = waitLimitMs): Promise<boolean> {
    const giveUpAt = performance.now() + maxMs
    while (!this.hasEnded && !this.isClosed && !isEnough(this.text)) {
      const leftMs = giveUpAt - performance.now()
      if (leftMs <= 0) return false
      const { promise, resolve } = Promise.withResolvers<void>()
      this.wake = resolve
      const timer = setTimeout(resolve, leftMs)
      await promise
      clearTimeout(timer)
    }
    return true
  }

  /** Waits for the peer to close. */
  async readToEnd(maxMs = waitLimitMs): Promise<ReadResult> {
    await this.readUntil(() => false, maxMs)
    return { bytes: this.bytes, hasEnded: this.hasEnded || this.isClosed }
  }

  private take(bytes: Uint8Array): void {
    this.received.push(Buffer.from(bytes))
    this.length += bytes.length
    this.wake?.()
  }

  private flush(): void {
    if (this.held.length === 0 || this.isClosed) return
    const gone = this.socket?.write(this.held) ?? 0
    if (gone > 0) this.held = this.held.subarray(gone)
  }

  private end(): void {
    this.hasEnded = true
    this.wake?.()
  }

  private close(): void {
    this.isClosed = true
    this.wake?.()
  }
}

/** One HTTP response. */
export type Answer = {
  readonly status: number
  readonly code: string
  readonly head: string
  readonly body: string
  readonly closes: boolean
}

/** The responses in the received text, in order; after a 200 to CONNECT the rest is tunnel data. */
export function readAnswers(text: string): { answers: Answer[]; rest: string } {
  const answers: Answer[] = []
  let rest = text
  for (;;) {
    const headEnd = rest.indexOf('\r\n\r\n')
    if (headEnd < 0) return { answers, rest }
    const head = rest.slice(0, headEnd)
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? Number.NaN)
    const code = /^X-Turnpike-Error: (.*)$/im.exec(head)?.[1] ?? ''
    const closes = /^Connection: close$/im.test(head)
    const behind = rest.slice(headEnd + 4)
    if (status === 101 || head.startsWith('HTTP/1.1 200 Connection established')) {
      answers.push({ status, code, head, body: '', closes })
      return { answers, rest: behind }
    }
    const body = readBody(head, behind)
    if (!body) return { answers, rest }
    answers.push({ status, code, head, body: body.text, closes })
    rest = behind.slice(body.used)
  }
}

function readBody(head: string, behind: string): { text: string; used: number } | undefined {
  const length = /^Content-Length: (\d+)$/im.exec(head)?.[1]
  if (length !== undefined) {
    const used = Number(length)
    return behind.length < used ? undefined : { text: behind.slice(0, used), used }
  }
  if (!/^Transfer-Encoding: chunked$/im.test(head)) return { text: '', used: 0 }
  const end = behind.indexOf('0\r\n\r\n')
  return end < 0 ? undefined : { text: behind.slice(0, end), used: end + 5 }
}

/** `407 credentials_required`, `200`: the status and the error code of a response. */
export const summarizeResponse = ({ status, code }: Answer): string => `${status} ${code}`.trim()
