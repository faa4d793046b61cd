import type { Reported } from '../agent/data-path.ts'
import type { DevicePeer } from './peers.ts'

type Total = { received: number; sent: number; handshakeAt: number | null }

/** The longest life of a WireGuard session. */
export const freshMs = 180_000

/**
 * Bytes per device since the boot, from WireGuard's counters per key. A counter that falls was reset, so all of it is
 * new. A removed key starts from zero if it returns.
 */
export class PeerCounts {
  private readonly totals = new Map<string, Total>()
  /** WireGuard's counters at the last look, by public key. */
  private seen = new Map<string, { received: number; sent: number }>()
  private readonly changed = new Set<string>()
  /** Total when the agent last took the count, the most that the shop can know. */
  private readonly taken = new Map<string, number>()
  totalBytes = 0

  /** Adds counters to the owner of each key; bytes of unknown keys are dropped. */
  absorb(peers: readonly DevicePeer[], ownerOf: (publicKey: string) => string | undefined): void {
    for (const peer of peers) {
      const id = ownerOf(peer.publicKey)
      if (id !== undefined) this.add(id, peer)
    }
    this.seen = new Map(peers.map(({ publicKey, received, sent }) => [publicKey, { received, sent }]))
  }

  totalOf(id: string): number {
    const total = this.totals.get(id)
    return total === undefined ? 0 : total.received + total.sent
  }

  takenOf(id: string): number {
    return this.taken.get(id) ?? 0
  }

  takeChanged(): Reported<'peers'>[] {
    const counts = [...this.changed].flatMap((id) => {
      const total = this.totals.get(id)
      if (!total) return []
      this.taken.set(id, total.received + total.sent)
      return [{ id, received: total.received, sent: total.sent, handshake_at: total.handshakeAt }]
    })
    this.changed.clear()
    return counts
  }

  upAt(nowMs: number): number {
    let up = 0
    for (const { handshakeAt } of this.totals.values()) if (nowMs - (handshakeAt ?? 0) < freshMs) up += 1
    return up
  }

  private add(id: string, peer: DevicePeer): void {
    const total = this.totals.get(id) ?? { received: 0, sent: 0, handshakeAt: null }
    const last = this.seen.get(peer.publicKey)
    const received = growth(last?.received, peer.received)
    const sent = growth(last?.sent, peer.sent)
    const isNewHandshake = (peer.handshakeAt ?? 0) > (total.handshakeAt ?? 0)
    if (received === 0 && sent === 0 && !isNewHandshake) return
    this.totals.set(id, {
      received: total.received + received,
      sent: total.sent + sent,
      handshakeAt: isNewHandshake ? peer.handshakeAt : total.handshakeAt,
    })
    this.totalBytes += received + sent
    this.changed.add(id)
  }
}

const growth = (last: number | undefined, now: number): number => (last === undefined || now < last ? now : now - last)
