import { type Address, formatAddress } from '../../../core/address.ts'
import { type MaybePromise, whenReady } from '../../../core/maybe-promise.ts'
import type { NodeExit } from '../../../node-protocol/state.ts'
import type { EgressPath } from '../access/exit-choice.ts'
import type { ExitHealth } from '../access/exit-health.ts'
import type { Policy } from '../access/policy.ts'
import type { ConnectTarget } from '../ways-in/authority.ts'
import { DestinationFinder } from './destinations.ts'
import type { Resolve } from './resolve.ts'
import type { Dialler, ExitRefusal, Upstreams } from './upstream.ts'

export type Dialled<Origin> =
  | {
      readonly origin: Origin
      /** Bytes that the origin or upstream sent already. */
      readonly early?: Uint8Array
      /** The actual local address, if it differs (sandbox only). */
      readonly leftFrom?: string
    }
  | ExitRefusal

const maxTries = 3

/** Connects to a destination. Each address is judged by its bytes, and exactly the judged literal is dialled. */
export class DestinationDialler<Origin> {
  private readonly finder: DestinationFinder

  constructor(
    private readonly deps: {
      policy: () => Policy
      resolve: Resolve
      connectMs: number
      dialler: Dialler<Origin>
      upstreams: Pick<Upstreams<Origin>, 'isLocal' | 'goVia'>
      health: Pick<ExitHealth, 'worked' | 'failed' | 'doubted'>
    },
  ) {
    const { policy, resolve, dialler } = deps
    this.finder = new DestinationFinder({ policy, resolve, isDeliveredHere: dialler.isDeliveredHere, transport: 'tcp' })
  }

  dial(target: ConnectTarget, way: EgressPath, owner: string): MaybePromise<Dialled<Origin>> {
    return whenReady(this.finder.find(target, way, owner), (found) => {
      if ('refusal' in found) return found
      return found.isLiteral
        ? this.go(target, way, this.deps.connectMs)
        : this.tryEach(found.addresses, target.port, way)
    })
  }

  private leave(there: ConnectTarget, from: string, maxMs: number): Promise<Dialled<Origin>> {
    const connected = this.deps.dialler.connect(there, from, maxMs)
    if (!from.includes(':') || !this.deps.policy().allowLoopback) return connected
    return connected.then((outcome) => {
      const isMissing = 'refusal' in outcome && outcome.refusal === 'address_unavailable'
      return isMissing ? this.leaveFromOwn(there, maxMs) : outcome
    })
  }

  /** A sandbox sells addresses that the machine lacks: it uses its own and reports that. */
  private async leaveFromOwn(there: ConnectTarget, maxMs: number): Promise<Dialled<Origin>> {
    const own = await this.deps.dialler.connect(there, '::1', maxMs)
    return 'origin' in own ? { ...own, leftFrom: '::1' } : own
  }

  private goThrough(there: ConnectTarget, exit: NodeExit, maxMs: number): Promise<Dialled<Origin>> {
    const { upstreams, dialler } = this.deps
    if (!upstreams.isLocal(exit)) return upstreams.goVia(exit, there, maxMs).then((outcome) => this.note(exit, outcome))
    return dialler.connect(there, exit.host, maxMs).then((left) => {
      // The address may be gone, or its ports used up.
      const isGone = 'refusal' in left && left.refusal === 'address_unavailable'
      return this.note(exit, isGone ? { ...left, isDoubtful: true } : left)
    })
  }

  private note(exit: NodeExit, outcome: Dialled<Origin>): Dialled<Origin> {
    if ('origin' in outcome) this.deps.health.worked(exit.id)
    else if (outcome.problem !== undefined) this.deps.health.failed(exit.id, outcome.problem)
    else if (outcome.isDoubtful) this.deps.health.doubted(exit.id)
    return outcome
  }

  private go(there: ConnectTarget, way: EgressPath, maxMs: number): Promise<Dialled<Origin>> {
    return way.kind === 'address' ? this.leave(there, way.address, maxMs) : this.goThrough(there, way.exit, maxMs)
  }

  private async tryEach(addresses: readonly Address[], port: number, way: EgressPath): Promise<Dialled<Origin>> {
    const giveUpAt = performance.now() + this.deps.connectMs
    let failure: Dialled<Origin> = { refusal: 'unreachable' }
    for (const address of addresses.slice(0, maxTries)) {
      const leftMs = giveUpAt - performance.now()
      if (leftMs <= 0) break
      failure = await this.go({ host: formatAddress(address), port }, way, leftMs)
      if ('origin' in failure || failure.problem !== undefined) return failure
    }
    return failure
  }
}
