import { afterEach, describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { until } from '../../../../../test/harness/until.ts'
import type { TlsOwner } from '../../../tls/tls-socket.ts'
import { type DeliveryWatch, nothingShown } from '../../metering/tunnel-meter.ts'
import type { TlsClient } from '../shared/sockets.ts'
import { openKernel } from './kernel.ts'
import type { PlainEnd } from './messages.ts'
import { viewTlsMemory } from './shared-memory.ts'
import { TlsLines } from './tls-lines.ts'

/** A client that reads nothing: a stream with a window of 0 bytes. */
class BlockedClient implements TlsClient {
  owner: TlsOwner | undefined
  isClosed = false
  readonly source = '192.0.2.1'
  acknowledged = 0
  openWatches = 0

  constructor(private readonly canFollow: boolean) {}

  follow(): DeliveryWatch | undefined {
    if (!this.canFollow) return undefined
    this.openWatches += 1
    return {
      transmission: () => ({ ...nothingShown, acknowledged: this.acknowledged, sent: 1000, isOver: false }),
      shutdown() {},
      close: () => void (this.openWatches -= 1),
    }
  }

  write(): number {
    return 0
  }
  shutdown(): void {}
  end(): void {}
  terminate(): void {
    this.isClosed = true
    this.owner?.onSocketClose()
  }
  pause(): void {}
  resume(): void {}
  setNoDelay(): void {}
}

describe('plaintext of TLS clients on its way to the reactor', () => {
  let nowMs = 0
  let opened: { stop(): void }[] = []
  afterEach(() => {
    for (const lines of opened) lines.stop()
    opened = []
  })

  function open(maxConnections: number) {
    const kernel = openKernel()
    const posted: PlainEnd[] = []
    const thread = {
      isRunning: true,
      post: (end: PlainEnd) => void posted.push(end),
    }
    const lines = new TlsLines({ kernel, thread, maxConnections, clock: () => nowMs })
    opened.push(lines)
    const take = (canFollow = true): BlockedClient => {
      const client = new BlockedClient(canFollow)
      lines.take(client)
      return client
    }
    /** The reactor has answered and closed its end. */
    const release = (index: number): void => {
      const { descriptor, memory } = posted[index] ?? expect.unreachable()
      kernel.send(descriptor, new Uint8Array(1000))
      kernel.close(descriptor)
      viewTlsMemory(memory).isReleased = true
    }
    return { take, release, posted }
  }

  /** Resolves after all lines have been looked at: those of an older interval come first. */
  async function looked(): Promise<void> {
    const { take, posted } = open(1)
    const client = take()
    viewTlsMemory(posted[0]?.memory ?? expect.unreachable()).isCut = true
    await until(() => client.isClosed)
  }

  test('a client that cannot be followed is closed and never reaches the reactor', () => {
    const { take, posted } = open(10)
    const before = readdirSync('/proc/self/fd').length
    expect(take(false).isClosed).toBe(true)
    expect(posted).toHaveLength(0)
    expect(readdirSync('/proc/self/fd')).toHaveLength(before)
  })

  test('a client that acknowledges nothing for 30 s after the reactor closed is closed, and its watch too', async () => {
    const { take, release } = open(10)
    const [slow, stalled, served] = [take(), take(), take()]
    release(0)
    release(1)
    await looked()
    nowMs += 29_999
    slow.acknowledged = 1
    await looked()
    expect([slow.isClosed, stalled.isClosed, served.isClosed]).toEqual([false, false, false])
    nowMs += 1
    await until(() => stalled.isClosed)
    nowMs += 29_998
    await looked()
    expect(slow.isClosed).toBe(false)
    nowMs += 1
    await until(() => slow.isClosed)
    expect(served.isClosed).toBe(false)
    nowMs += 30_000
    await until(() => slow.openWatches + stalled.openWatches === 0)
  })

  test('beyond the limit of connections the oldest client that the reactor has closed is evicted, else the newcomer', async () => {
    const { take, release } = open(0)
    const clients = Array.from({ length: 500 }, () => take())
    expect(take().isClosed).toBe(true)
    release(7)
    release(9)
    await looked()
    expect(take().isClosed).toBe(false)
    expect(clients[7]?.isClosed).toBe(true)
    expect(clients[9]?.isClosed).toBe(false)
    expect(take().isClosed).toBe(false)
    expect(clients[9]?.isClosed).toBe(true)
    expect(take().isClosed).toBe(true)
  })
})
