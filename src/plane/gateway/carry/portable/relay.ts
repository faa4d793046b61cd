import type { Passage } from './door.ts'
import type { Side } from './side.ts'

/**
 * Carries bytes both ways as they are, until either side is gone, and cuts at the byte when there is no traffic left. Reading from one side stops
 * while the other cannot take more.
 */
export class Relay {
  private parkedUp: Uint8Array | undefined
  private parkedDown: Uint8Array | undefined
  private hasClientEnded = false
  private hasOriginEnded = false
  private isOver = false
  private forget: (() => void) | undefined

  constructor(
    private readonly client: Side,
    private readonly passage: Passage,
    private readonly clock: () => number,
  ) {}

  /** `fromClient` and `fromOrigin` came before there was anybody to pass them to. */
  start(fromClient: Uint8Array, fromOrigin: Uint8Array): void {
    const { client, passage } = this
    passage.cut = () => this.cut()
    client.own({
      onData: (bytes) => this.up(bytes),
      onEnd: () => {
        this.hasClientEnded = true
        this.endSides()
      },
      onDrain: () => {
        if (!this.parkedDown) passage.origin.resume()
      },
      onClose: () => this.lose(),
    })
    passage.origin.own({
      onData: (bytes) => this.down(bytes),
      onEnd: () => {
        this.hasOriginEnded = true
        this.endSides()
      },
      onDrain: () => {
        if (!this.parkedUp) client.resume()
      },
      onClose: () => this.loseOrigin(),
    })
    if (client.isClosed) this.lose()
    else if (passage.origin.isClosed) this.loseOrigin()
    else {
      client.resume()
      passage.origin.resume()
      if (fromClient.length > 0) this.up(fromClient)
      if (fromOrigin.length > 0) this.down(fromOrigin)
    }
  }

  private up(bytes: Uint8Array): void {
    if (this.isOver) return
    this.passage.activeAt = this.clock()
    const taken = this.passage.tally.takeSent(bytes.length)
    const isClear = taken === 0 || this.passage.origin.write(taken < bytes.length ? bytes.subarray(0, taken) : bytes)
    if (taken < bytes.length) {
      this.parkedUp = bytes.slice(taken)
      this.wait()
    }
    this.passage.valves.up.passed()
    if (!isClear || this.parkedUp) this.client.pause()
  }

  private down(bytes: Uint8Array): void {
    if (this.isOver) return
    this.passage.activeAt = this.clock()
    const taken = this.passage.tally.takeReceived(bytes.length)
    const isClear = taken === 0 || this.client.write(taken < bytes.length ? bytes.subarray(0, taken) : bytes)
    if (taken < bytes.length) {
      this.parkedDown = bytes.slice(taken)
      this.wait()
    }
    this.passage.valves.down.passed()
    if (!isClear || this.parkedDown) this.passage.origin.pause()
  }

  /** Bytes wait for the next lease; when it is sure that there is none, the tunnel ends where it is. */
  private wait(): void {
    this.forget ??= this.passage.tally.account.onChange(() => this.goOn())
    if (this.passage.tally.account.isUsedUp) this.exhaust()
  }

  private goOn(): void {
    const { account } = this.passage.tally
    if (!account.hasSome) {
      if (account.isUsedUp) this.exhaust()
      return
    }
    const [up, down] = [this.parkedUp, this.parkedDown]
    this.parkedUp = undefined
    this.parkedDown = undefined
    this.forget?.()
    this.forget = undefined
    if (up) this.up(up)
    if (down) this.down(down)
    if (this.isOver) return
    if (!this.parkedUp && this.passage.origin.heldBytes === 0) this.client.resume()
    if (!this.parkedDown && this.client.heldBytes === 0) this.passage.origin.resume()
    this.endSides()
  }

  private endSides(): void {
    this.passage.isHalfOpen = this.hasClientEnded || this.hasOriginEnded
    if (this.hasClientEnded && !this.parkedUp) this.passage.origin.finish()
    if (this.hasOriginEnded && !this.parkedDown) this.client.finish()
    if (!this.hasClientEnded || !this.hasOriginEnded || this.parkedUp || this.parkedDown) return
    this.end()
    this.client.release()
    this.passage.origin.release()
  }

  private exhaust(): void {
    if (this.isOver) return
    this.end()
    this.passage.origin.abort()
    this.client.close()
  }

  private lose(): void {
    this.end()
    this.passage.origin.abort()
  }

  private loseOrigin(): void {
    this.end()
    this.client.close()
  }

  private cut(): void {
    this.passage.tally.cut()
    this.end()
    this.client.abort()
    this.passage.origin.abort()
  }

  private end(): void {
    if (this.isOver) return
    this.isOver = true
    this.forget?.()
    this.passage.finish()
  }
}
