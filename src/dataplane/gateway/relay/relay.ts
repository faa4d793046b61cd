import type { Passage } from './passage.ts'
import { Pipe } from './pipe.ts'
import type { Side } from './side.ts'

/**
 * Carries bytes both ways as they are, until either side is gone, and cuts at the byte when there is no traffic left.
 */
export class Relay {
  private readonly up: Pipe
  private readonly down: Pipe
  private hasClientEnded = false
  private hasOriginEnded = false
  private isOver = false

  constructor(
    private readonly client: Side,
    private readonly passage: Passage,
    clock: () => number,
  ) {
    const owner = { onExhausted: () => this.exhaust(), onCleared: () => this.endSides() }
    this.up = new Pipe('up', client, passage, clock, owner)
    this.down = new Pipe('down', client, passage, clock, owner)
  }

  /** `fromClient` and `fromOrigin` came before there was anybody to pass them to. */
  start(fromClient: Uint8Array, fromOrigin: Uint8Array): void {
    const { client, passage, up, down } = this
    passage.carriedBy = this
    client.own({
      onData: (bytes) => up.carry(bytes),
      onEnd: () => {
        this.hasClientEnded = true
        this.endSides()
      },
      onDrain: () => down.resume(),
      onClose: () => this.lose(),
    })
    passage.origin.own({
      onData: (bytes) => down.carry(bytes),
      onEnd: () => {
        this.hasOriginEnded = true
        this.endSides()
      },
      onDrain: () => up.resume(),
      onClose: () => this.loseOrigin(),
    })
    if (client.isClosed) this.lose()
    else if (passage.origin.isClosed) this.loseOrigin()
    else {
      client.resume()
      passage.origin.resume()
      if (fromClient.length > 0) up.carry(fromClient)
      if (fromOrigin.length > 0) down.carry(fromOrigin)
    }
  }

  private endSides(): void {
    const { client, passage, up, down } = this
    if (this.isOver) return
    passage.isHalfOpen = this.hasClientEnded || this.hasOriginEnded
    if (this.hasClientEnded && up.isClear) passage.origin.finish()
    if (this.hasOriginEnded && down.isClear) client.finish()
    if (!this.hasClientEnded || !this.hasOriginEnded || !up.isClear || !down.isClear) return
    this.end()
    client.release()
    passage.origin.release()
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

  cut(): void {
    this.passage.tally.cut()
    this.end()
    this.client.abort()
    this.passage.origin.abort()
  }

  private end(): void {
    if (this.isOver) return
    this.isOver = true
    this.up.close()
    this.down.close()
    this.passage.finish()
  }
}
