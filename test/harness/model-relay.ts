import type { DataPath, Reported } from '../../src/dataplane/agent/data-path.ts'
import type { LeaseAgent } from '../../src/dataplane/agent/meter.ts'

type Subject = { readonly id: string; readonly pool: string; received: number; sent: number; upto: number }

/**
 * A correct relay: it never exceeds its allowance, and does not use returned bytes. It keeps the relayed bytes apart
 * from the reported bytes, so that a test can compute the loss by a crash.
 */
export class ModelRelay implements DataPath {
  readonly subjects = new Map<string, Subject>()
  readonly proxies = new Map<number, { received: number; sent: number }>()
  /** Both directions of each sub-user at the agent's last read: a crash must not lose these. */
  readonly lastRead = new Map<string, number>()
  readonly lastReadProxies = new Map<number, number>()
  private readonly changed = new Set<string>()
  private readonly changedProxies = new Set<number>()

  subject(id: string, pool: string): Subject {
    const key = `${id} ${pool}`
    const known = this.subjects.get(key) ?? { id, pool, received: 0, sent: 0, upto: 0 }
    this.subjects.set(key, known)
    return known
  }

  /** Relays up to the allowance, and requests more when it runs low. */
  relay(agent: LeaseAgent, id: string, pool: string, bytes: number): number {
    const subject = this.subject(id, pool)
    const part = Math.max(0, Math.min(bytes, subject.upto - subject.received - subject.sent))
    subject.received += Math.floor(part / 3)
    subject.sent += part - Math.floor(part / 3)
    if (part > 0) this.changed.add(`${id} ${pool}`)
    if (part < bytes) agent.wantLease(id, pool)
    return part
  }

  relayProxy(id: number, bytes: number): void {
    const count = this.proxies.get(id) ?? { received: 0, sent: 0 }
    this.proxies.set(id, { received: count.received + bytes, sent: count.sent + 1 })
    this.changedProxies.add(id)
  }

  giveBack(agent: LeaseAgent, id: string, pool: string): void {
    const subject = this.subject(id, pool)
    subject.upto = subject.received + subject.sent
    agent.giveBack(id, pool)
  }

  takeChanged() {
    const subusers: Reported<'subusers'>[] = [...this.changed].flatMap((key) => {
      const subject = this.subjects.get(key)
      if (!subject) return []
      const { id, pool, received, sent } = subject
      this.lastRead.set(key, received + sent)
      return [{ id, pool, received, sent }]
    })
    const proxies = [...this.changedProxies].flatMap((id) => {
      const count = this.proxies.get(id)
      if (!count) return []
      this.lastReadProxies.set(id, count.received + count.sent)
      return [{ id, ...count }]
    })
    this.changed.clear()
    this.changedProxies.clear()
    return { proxies, subusers, hosts: [], peers: [] }
  }

  takeSources() {
    return []
  }

  allow(id: string, pool: string, upto: number): void {
    this.subject(id, pool).upto = upto
  }

  get health() {
    let totalBytes = 0
    for (const { received, sent } of this.subjects.values()) totalBytes += received + sent
    return { tunnels: this.subjects.size, totalBytes }
  }
}
