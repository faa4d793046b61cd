import type { Socket } from 'bun'

/** The origin's behaviour for one connection or request. */
export type OriginTask = {
  /** Identifies it: the first line of a raw connection, or the path of a request. */
  readonly id: string
  /**
   * The origin answers once so many bytes have arrived, the first line included, or once the peer has half-closed. A
   * request is answered when it is complete.
   */
  readonly up: number | 'end'
  readonly down: number
  /** What the origin does after the whole answer. */
  readonly afterwards: 'end' | 'reset' | 'stay'
  /** The framing of the answer; `promised` is a Content-Length larger than the body. */
  readonly framing?: 'length' | 'chunked'
  readonly promised?: number
  /** Sends a few bytes at this interval instead of as fast as possible. */
  readonly everyMs?: number
}

const piece = new Uint8Array(256 * 1024).fill(120)
const chunkBytes = 10_000
const pacedBytes = 5000

/** One connection to the origin. */
class OriginConnection {
  task: OriginTask | undefined
  /** All bytes of a raw connection, or the body of a request. */
  received = 0
  hasEnded = false
  /** Bytes of the answer that the kernel has accepted. */
  sentBytes = 0
  /** Read while the socket is open: a closed socket has lost it. */
  readonly cameFrom: string
  private ticker: ReturnType<typeof setInterval> | undefined
  private before = Buffer.alloc(0)
  private request: { left: number; isChunked: boolean; tail: string } | undefined
  private head: Uint8Array = new Uint8Array(0)
  private left = -1

  constructor(
    private readonly socket: Socket<OriginConnection>,
    private readonly tasks: ReadonlyMap<string, OriginTask>,
  ) {
    this.cameFrom = socket.remoteAddress
  }

  take(bytes: Uint8Array): void {
    if (this.task) this.count(bytes)
    else {
      this.before = Buffer.concat([this.before, bytes])
      this.begin()
    }
    this.answer()
  }

  close(): void {
    clearInterval(this.ticker)
  }

  end(): void {
    this.hasEnded = true
    this.answer()
    if (this.left <= 0 && this.head.length === 0) this.socket.end()
  }

  /** Sends nothing more. */
  stop(): void {
    clearInterval(this.ticker)
    this.left = 0
    this.socket.end()
  }

  private tick(): void {
    const gone = this.socket.write(piece.subarray(0, Math.min(pacedBytes, this.left)))
    if (gone > 0) this.sentBytes += gone
    this.left -= Math.max(0, gone)
  }

  sendMore(): void {
    if (this.task?.everyMs !== undefined) {
      this.ticker ??= setInterval(() => this.tick(), this.task.everyMs)
      return
    }
    while (this.head.length > 0 || this.left > 0) {
      const isHead = this.head.length > 0
      const bytes = isHead ? this.head : piece.subarray(0, Math.min(piece.length, this.left))
      const gone = this.socket.write(bytes)
      if (gone <= 0) return
      this.sentBytes += gone
      if (isHead) this.head = this.head.subarray(gone)
      else this.left -= gone
    }
    if (this.left < 0) return
    if (this.task?.afterwards === 'end' || this.hasEnded) this.socket.end()
    else if (this.task?.afterwards === 'reset') this.socket.terminate()
  }

  private begin(): void {
    const text = this.before.toString('latin1')
    const isRequest = /^[A-Z]+ \//.test(text)
    const mark = isRequest ? '\r\n\r\n' : '\n'
    const end = text.indexOf(mark)
    if (end < 0) return
    const id = isRequest ? (/^[A-Z]+ \/(\S+)/.exec(text)?.[1] ?? '') : text.slice(0, end)
    this.task = this.tasks.get(id)
    if (isRequest) {
      const left = Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0)
      this.request = { left, isChunked: /^transfer-encoding: chunked/im.test(text), tail: '' }
    }
    this.count(isRequest ? this.before.subarray(end + mark.length) : this.before)
  }

  private count(bytes: Uint8Array): void {
    this.received += bytes.length
    if (!this.request) return
    this.request.left -= bytes.length
    this.request.tail = (this.request.tail + Buffer.from(bytes.subarray(-5)).toString('latin1')).slice(-5)
  }

  private answer(): void {
    if (!this.task || this.left >= 0 || !this.isAllThere(this.task)) return
    const { down, framing, promised } = this.task
    this.left = framing === 'chunked' ? 0 : down
    if (framing === 'chunked') this.head = chunked(down)
    else if (this.request) this.head = Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${promised ?? down}\r\n\r\n`)
    this.sendMore()
  }

  private isAllThere({ up }: OriginTask): boolean {
    if (this.request) return this.request.isChunked ? this.request.tail === '0\r\n\r\n' : this.request.left <= 0
    return up === 'end' ? this.hasEnded : this.received >= up
  }
}

export function chunked(bytes: number): Buffer {
  const parts = ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n']
  for (let left = bytes; left > 0; left -= chunkBytes) {
    const size = Math.min(left, chunkBytes)
    parts.push(`${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`)
  }
  return Buffer.from(`${parts.join('')}0\r\n\r\n`)
}

/** An origin that answers as configured, raw and over HTTP, and counts the bytes of each task. */
export function openByteOrigin(hostname = '127.0.0.1') {
  const tasks = new Map<string, OriginTask>()
  const connections = new Map<string, OriginConnection>()
  const listener = Bun.listen<OriginConnection>({
    hostname,
    port: 0,
    allowHalfOpen: true,
    socket: {
      open(socket) {
        socket.data = new OriginConnection(socket, tasks)
      },
      data(socket, bytes) {
        socket.data.take(bytes)
        if (socket.data.task) connections.set(socket.data.task.id, socket.data)
      },
      drain: (socket) => socket.data.sendMore(),
      end: (socket) => socket.data.end(),
      close: (socket) => socket.data.close(),
      // Some tests expect a reset.
      error() {},
    },
  })
  return {
    host: `${hostname}:${listener.port}`,
    port: listener.port,
    /** Sets the behaviour for connections with this id. */
    expect: (task: OriginTask): void => void tasks.set(task.id, task),
    /** Bytes that have arrived: all of a raw connection, or the body of a request; -1 before the first. */
    arrived: (id: string): number => connections.get(id)?.received ?? -1,
    /** Stops the answer, and returns the bytes sent. */
    finish(id: string): number {
      connections.get(id)?.stop()
      return connections.get(id)?.sentBytes ?? 0
    },
    /** The source address that the origin saw. */
    cameFrom: (id: string): string => connections.get(id)?.cameFrom ?? '',
    /** Drops all state of this id. */
    forget(id: string): void {
      tasks.delete(id)
      connections.delete(id)
    },
    stop: () => listener.stop(true),
  }
}

export type ByteOrigin = ReturnType<typeof openByteOrigin>
