import type { Clock } from '../../core/time.ts'
import { nextTicketKeys, type TicketKey, type TicketKeyState } from '../../dataplane/tls/openssl/ticket-keys.ts'

const lookEveryMs = 60_000

/** Keys of TLS session tickets, from a shared secret or random, changed daily. */
export class TicketKeys {
  state: TicketKeyState
  onChanged: (keys: readonly TicketKey[]) => void = () => {}
  private readonly timer: ReturnType<typeof setInterval>

  constructor(
    private readonly secret: string | undefined,
    private readonly clock: Clock,
    /** Of the process that this one replaces. */
    inherited: TicketKeyState | undefined,
  ) {
    this.state = nextTicketKeys(secret, secret === undefined ? inherited : undefined, clock())
    this.timer = setInterval(() => this.look(), lookEveryMs)
    this.timer.unref()
  }

  look(): void {
    const before = this.state
    this.state = nextTicketKeys(this.secret, before, this.clock())
    if (this.state !== before) this.onChanged(this.state.keys)
  }

  stop(): void {
    clearInterval(this.timer)
  }
}
