import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Dice } from './dice.ts'

/** What happens to one HTTP request between a client and a shop. */
export type Fate =
  | 'pass'
  /** The shop gets nothing; the client's connection is reset. */
  | 'lose request'
  /** The shop answers, and the client's connection is reset. */
  | 'lose answer'
  /** The client's connection is reset while the shop works. */
  | 'lose connection'
  /** The client gets half of the answer. */
  | 'cut answer'
  /** The shop gets the request twice at a time; the client gets the second answer. */
  | 'repeat'
  /** The shop answers, and the client gets nothing until the proxy closes. */
  | 'hold'
  /** The shop gets nothing; the client gets 503, or a page of another server with 502. */
  | 'overload'
  | 'bad gateway'

const overload = 'HTTP/1.1 503 Service Unavailable\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n'
const page = '<html>bad gateway</html>'
const badGateway = `HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\ncontent-length: ${page.length}\r\nconnection: close\r\n\r\n${page}`

/** Fates that a client recovers from by repeating its request; three of ten requests pass. */
const usualFates: readonly Fate[] = [
  'pass',
  'pass',
  'pass',
  'lose request',
  'lose answer',
  'lose connection',
  'cut answer',
  'repeat',
  'overload',
  'bad gateway',
]

export const usualFateCount = new Set(usualFates).size

export function drawFates(dice: Dice): () => Fate {
  return () => usualFates[dice(usualFates.length)] ?? 'pass'
}

/** A TCP proxy before a shop of this machine. `nextFate` decides for each request, from its first line. */
export class UnreliableProxy {
  readonly fates: Fate[] = []
  private readonly sockets = new Set<Socket>()
  private server: Server | undefined

  constructor(
    private readonly to: number,
    private readonly nextFate: (line: string) => Fate,
  ) {}

  /** Opens a free port, and gives the address that a client uses. */
  async open(): Promise<string> {
    const server = createServer((near) => this.accept(near))
    this.server = server
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
    return `http://127.0.0.1:${address.port}`
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    await new Promise((resolve) => this.server?.close(resolve))
  }

  /** One request for each connection: the answer closes it. */
  private accept(near: Socket): void {
    this.keep(near)
    let received = Buffer.alloc(0)
    const collect = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk])
      const request = toWholeRequest(received)
      if (request === undefined) return
      near.off('data', collect)
      const fate = this.nextFate(request.slice(0, request.indexOf('\r\n')).toString())
      this.fates.push(fate)
      void this.fulfil(near, request, fate)
    }
    near.on('data', collect)
  }

  private async fulfil(near: Socket, request: Buffer, fate: Fate): Promise<void> {
    if (fate === 'overload') return void near.end(overload)
    if (fate === 'bad gateway') return void near.end(badGateway)
    if (fate === 'lose request') return void near.destroy()
    const pending = this.ask(request)
    const other = fate === 'repeat' ? this.ask(request) : pending
    if (fate === 'lose connection') near.destroy()
    await pending
    const answer = await other
    if (fate === 'lose answer') near.destroy()
    else if (fate === 'cut answer') near.end(answer.subarray(0, answer.length / 2))
    else if (fate !== 'hold') near.end(answer)
  }

  private ask(request: Buffer): Promise<Buffer> {
    return new Promise((resolve) => {
      let answer = Buffer.alloc(0)
      const far = connect(this.to, '127.0.0.1', () => far.write(request))
      this.keep(far)
      far.on('data', (chunk: Buffer) => {
        answer = Buffer.concat([answer, chunk])
        if (isWhole(answer)) far.end()
      })
      far.on('close', () => resolve(answer))
    })
  }

  private keep(socket: Socket): void {
    this.sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.sockets.delete(socket))
  }
}

/** The end of a message's head, and the length of its body if a header has it. */
function readHead(received: Buffer): { readonly end: number; readonly head: string; readonly length?: number } {
  const end = received.indexOf('\r\n\r\n')
  const head = received.subarray(0, Math.max(0, end)).toString('latin1')
  const length = /^content-length: *(\d+)/im.exec(head)?.[1]
  return { end, head, ...(length !== undefined && { length: Number(length) }) }
}

function isWhole(answer: Buffer): boolean {
  const { end, length } = readHead(answer)
  return end !== -1 && length !== undefined && answer.length >= end + 4 + length
}

/** The request with `Connection: close`, once its whole body is here. */
function toWholeRequest(received: Buffer): Buffer | undefined {
  const { end, head, length = 0 } = readHead(received)
  if (end === -1 || received.length < end + 4 + length) return undefined
  const closing = `${head.replace(/\r\nconnection:[^\r]*/i, '')}\r\nConnection: close\r\n\r\n`
  return Buffer.concat([Buffer.from(closing, 'latin1'), received.subarray(end + 4)])
}
