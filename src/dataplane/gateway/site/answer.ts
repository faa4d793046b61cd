import type { After } from '../../../core/time.ts'
import { joinBytes } from '../ways-in/bytes.ts'
import type { SiteFile } from './content.ts'
import type { BudgetShare } from './fair-budget.ts'

export const maxBodyBytes = 1024 * 1024
/** Time limits for the body of a request, and for an answer without progress. */
export const bodyMs = 30_000
export const stallMs = 30_000
const nothing = new Uint8Array(0)

/** Bytes of a file that are read at once; read again if the client takes less. */
const pieceBytes = 16 * 1024

/** Writes to a socket or stream. It holds what the client does not read of an answer, and nothing of a file. */
export class AnswerWriter {
  private backlog: Uint8Array = nothing
  private file: { readonly body: SiteFile; at: number } | undefined
  private wake: (() => void) | undefined
  /** Bytes that the socket has taken. */
  written = 0

  constructor(
    /** Another one while the connection reads ahead. */
    public socket: { write(bytes: Uint8Array): number; terminate(): void; readonly isClosed: boolean },
    private readonly holding: BudgetShare,
  ) {}

  get isSent(): boolean {
    return this.backlog.length === 0 && !this.file
  }

  /** Bytes of all answers so far, written or waiting. */
  get position(): number {
    return this.written + this.backlog.length
  }

  push(bytes: Uint8Array): void {
    if (this.socket.isClosed || bytes.length === 0) return
    const gone = this.isSent ? Math.max(0, this.socket.write(bytes)) : 0
    this.written += gone
    if (gone === bytes.length) return
    this.backlog = joinBytes([this.backlog, bytes.slice(gone)])
    if (this.holding.resize(this.backlog.length)) return
    this.backlog = nothing
    this.socket.terminate()
  }

  /** Sends a file as the client reads it. */
  pushFile(body: SiteFile): void {
    this.file = { body, at: 0 }
    this.readOn()
  }

  private readOn(): void {
    const { file, socket } = this
    if (!file || this.backlog.length > 0) return
    while (!socket.isClosed) {
      const piece = file.body.read(file.at, pieceBytes)
      if (!piece) return socket.terminate()
      const gone = Math.max(0, socket.write(piece))
      this.written += gone
      file.at += gone
      if (file.at === file.body.size) {
        this.file = undefined
        return
      }
      if (gone < piece.length) return
    }
  }

  /** The socket takes bytes again. False if some still wait. */
  flush(): boolean {
    const { backlog } = this
    if (backlog.length > 0) {
      const gone = Math.max(0, this.socket.write(backlog))
      this.written += gone
      this.backlog = backlog.slice(gone)
      this.holding.resize(this.backlog.length)
    }
    if (this.backlog.length === 0) this.readOn()
    if (this.isSent) this.wake?.()
    return this.isSent
  }

  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve
    })
  }

  /** The socket has closed: nothing is held for it. */
  close(): void {
    this.backlog = nothing
    this.file = undefined
    this.holding.resize(0)
    this.wake?.()
  }
}

/** Bytes of a request's body within the limits. */
export class RequestBody {
  private parts: Uint8Array[] = []
  private bytes = 0

  constructor(private readonly holding: BudgetShare) {}

  add(bytes: Uint8Array): boolean {
    const sum = this.bytes + bytes.length
    if (sum > maxBodyBytes || !this.holding.resize(sum)) return false
    this.parts.push(new Uint8Array(bytes))
    this.bytes = sum
    return true
  }

  take(): Uint8Array {
    const all = joinBytes(this.parts)
    this.release()
    return all
  }

  release(): void {
    this.holding.resize(0)
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
