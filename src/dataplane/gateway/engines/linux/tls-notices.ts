import type { After } from '../../../../core/time.ts'

/** A connection that the accepting thread gave to the reactor. */
export type BegunConnection = { readonly id: number; readonly descriptor: number; readonly source: string }

/**
 * Connections that have begun unjudged, handshakes that have ended, and connections that have; in that order. Then the
 * addresses of admitted requests.
 */
export type TlsNotices = {
  readonly type: 'notices'
  readonly begun: readonly BegunConnection[]
  readonly shaken: readonly number[]
  readonly gone: readonly number[]
  readonly admitted: readonly string[]
}

/** Notices travel together: each message wakes the main thread, which costs up to 100 µs where it slept. */
export const noticeMs = 25
const maxNotices = 256

/** What the front of the main thread must know of connections over TLS, soon but not at once. */
export class NoticeBatch {
  private begun: BegunConnection[] = []
  private shaken: number[] = []
  private gone: number[] = []
  private admitted: string[] = []
  /** When it is due. */
  private postAt = 0
  private isPlanned = false

  constructor(
    private readonly deps: {
      readonly after: After
      /** The time of this turn, monotonic. */
      readonly now: () => number
      readonly post: (notices: TlsNotices) => void
    },
  ) {}

  noteBegun(connection: BegunConnection): void {
    this.note(this.begun, connection)
  }

  noteShaken(id: number): void {
    this.note(this.shaken, id)
  }

  noteGone(id: number): void {
    this.note(this.gone, id)
  }

  noteAdmitted(source: string): void {
    this.note(this.admitted, source)
  }

  private note<Notice>(notices: Notice[], notice: Notice): void {
    if (this.size === 0) this.postAt = this.deps.now() + noticeMs
    notices.push(notice)
  }

  private get size(): number {
    return this.begun.length + this.shaken.length + this.gone.length + this.admitted.length
  }

  /** Posts what is due. Call at the end of each turn. */
  flush(): void {
    if (this.size === 0) return
    const dueInMs = this.postAt - this.deps.now()
    if (dueInMs <= 0 || this.size >= maxNotices) {
      const { begun, shaken, gone, admitted } = this
      this.begun = []
      this.shaken = []
      this.gone = []
      this.admitted = []
      this.deps.post({ type: 'notices', begun, shaken, gone, admitted })
    } else if (!this.isPlanned) {
      this.isPlanned = true
      // The timer ends the wait in the kernel, and a flush follows.
      this.deps.after(dueInMs, () => {
        this.isPlanned = false
      })
    }
  }
}
