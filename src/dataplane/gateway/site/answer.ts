import type { After } from '../../../core/time.ts'
import { joinBytes } from '../ways-in/bytes.ts'
import { maxAnswerBytes } from './content.ts'

export const maxBodyBytes = 1024 * 1024
/** Time limits for the body of a request, and for an answer without progress. */
export const bodyMs = 30_000
export const stallMs = 30_000
const nothing = new Uint8Array(0)

/** Where the body of an answer is written. */
type Sink = {
  /** False if the rest waits for drained(). */
  write(bytes: Uint8Array): boolean
  drained(): Promise<void>
  readonly isClosed: boolean
}

/** Writes to a socket or stream, and holds what the client does not read yet. */
export class AnswerWriter {
  private backlog: Uint8Array = nothing
  private wake: (() => void) | undefined
  /** Bytes that the socket has taken. */
  written = 0

  constructor(private readonly socket: { write(bytes: Uint8Array): number; readonly isClosed: boolean }) {}

  get isSent(): boolean {
    return this.backlog.length === 0
  }

  push(bytes: Uint8Array): void {
    if (this.socket.isClosed || bytes.length === 0) return
    const gone = this.isSent ? Math.max(0, this.socket.write(bytes)) : 0
    this.written += gone
    if (gone < bytes.length) this.backlog = joinBytes([this.backlog, bytes.subarray(gone)])
  }

  /** The socket takes bytes again. False if some still wait. */
  flush(): boolean {
    const waiting = this.backlog
    this.backlog = nothing
    this.push(waiting)
    if (this.isSent) this.stopWaiting()
    return this.isSent
  }

  /** Also when the socket has closed. */
  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve
    })
  }

  stopWaiting(): void {
    this.wake?.()
  }
}

/** Writes a body. False if it was cut off. */
export async function pump(sink: Sink, body: ReadableStream<Uint8Array>, length: number | undefined): Promise<boolean> {
  const reader = body.getReader()
  let sent = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return length === undefined || sent === length
      sent += value.length
      if (sent > (length ?? maxAnswerBytes)) return false
      if (!sink.write(value)) await sink.drained()
      if (sink.isClosed) return false
    }
  } catch {
    return false
  } finally {
    void reader.cancel().catch(() => {})
  }
}

/** Bytes of a request's body within the limits. */
export class RequestBody {
  private parts: Uint8Array[] = []
  private bytes = 0

  constructor(private readonly reserve: (bytes: number) => boolean) {}

  add(bytes: Uint8Array): boolean {
    if (this.bytes + bytes.length > maxBodyBytes || !this.reserve(bytes.length)) return false
    this.parts.push(new Uint8Array(bytes))
    this.bytes += bytes.length
    return true
  }

  take(): Uint8Array {
    const all = joinBytes(this.parts)
    this.release()
    return all
  }

  release(): void {
    this.reserve(-this.bytes)
    this.bytes = 0
    this.parts = []
  }
}

export type Deadline = { set(ms: number, act: () => void): void; clear(): void }

export function createDeadline(after: After): Deadline {
  let cancel: (() => void) | undefined
  const clear = (): void => {
    cancel?.()
    cancel = undefined
  }
  return {
    clear,
    set(ms, act) {
      clear()
      cancel = after(ms, act)
    },
  }
}
