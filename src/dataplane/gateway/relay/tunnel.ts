import type { MaybePromise } from '../../../core/maybe-promise.ts'
import { notInSet, type SetIndex, SwapRemoveSet } from '../../../core/swap-remove-set.ts'
import type { NodeExit } from '../../../node-protocol/state.ts'
import type { Snapshot } from '../../agent/snapshot.ts'
import { type Access, accessRefusal, type Moment } from '../access/admission.ts'
import type { ChosenWay, createWayChooser } from '../access/exit-choice.ts'
import type { TunnelLimits } from '../access/limits.ts'
import type { OpenTunnels } from '../access/recheck.ts'
import type { DestinationDialler, Dialled } from '../dial/dial.ts'
import type { ExitRefusal } from '../dial/upstream.ts'
import type { Metering } from '../metering/metering.ts'
import type { TunnelMeter } from '../metering/tunnel-meter.ts'
import type { Side } from '../sides/side.ts'
import type { Sockets } from '../sides/sockets.ts'
import type { ConnectTarget } from '../ways-in/authority.ts'
import type { RefusalCode } from '../ways-in/refusals.ts'

/**
 * An admitted client connection with its connection to the destination. A class without closures, to keep idle tunnels
 * small.
 */
export class ProxyTunnel {
  isHalfOpen = false
  openIndex: SetIndex = notInSet
  /** Set by the relay. */
  relay: { cut(): void } | undefined

  constructor(
    readonly access: Access,
    readonly origin: Side,
    readonly early: Uint8Array,
    readonly meter: TunnelMeter,
    /** The address that it leaves from, if it is not the exit's (sandbox only). */
    readonly leftFrom: string | undefined,
    public activeAt: number,
    private readonly tunnels: ProxyTunnels,
  ) {}

  get sockets(): Sockets {
    return this.tunnels.sockets
  }

  cut(): void {
    this.relay?.cut()
  }

  finish(): void {
    this.tunnels.end(this)
  }

  /** The client has gone before the relay started. */
  drop(): void {
    this.finish()
    this.origin.abort()
  }
}

/** Starts to relay a tunnel. The byte arrays were received before. */
export type StartRelay = (client: Side, tunnel: ProxyTunnel, fromClient: Uint8Array, fromOrigin: Uint8Array) => void

/** A tunnel whose destination is being connected. */
type DialAttempt = {
  readonly access: Access
  readonly target: ConnectTarget
  readonly client: Side
  failed: readonly NodeExit[]
  /** Reason of the last failure. */
  refusal: RefusalCode | undefined
  /** It no longer counts towards the customer's limit. */
  hasLeft: boolean
  diallingIndex: SetIndex
}

const maxExitsPerTunnel = 3

type Refused = { readonly refusal: RefusalCode }
type MaybeOpened = MaybePromise<ProxyTunnel | Refused>
const nothing = new Uint8Array(0)
const none: readonly NodeExit[] = []

/** Opens tunnels for admitted clients: chooses the exit, dials, and tries another exit after a failure. */
export class ProxyTunnels {
  readonly sockets: Sockets
  private readonly metering: Metering<Side>
  private readonly attempts = new SwapRemoveSet<'diallingIndex', DialAttempt>('diallingIndex')
  /** Dial attempts whose client had gone at the last look(). */
  abandoned = 0
  /** Dial attempts that failed for lack of descriptors or memory. */
  starved = 0

  constructor(
    private readonly deps: {
      snapshot: Snapshot
      moment: () => Moment
      limits: TunnelLimits
      chooseWay: ReturnType<typeof createWayChooser>
      dial: DestinationDialler<Side>['dial']
      metering: Metering<Side>
      sockets: Sockets
      open: OpenTunnels
      /** Why no new tunnel can be opened, or undefined. */
      closedFor: () => RefusalCode | undefined
    },
  ) {
    this.sockets = deps.sockets
    this.metering = deps.metering
  }

  end(tunnel: ProxyTunnel): void {
    if (!this.deps.open.remove(tunnel)) return
    this.metering.finish(tunnel.meter)
    this.releaseSlot(tunnel.access)
  }

  get dialling(): number {
    return this.attempts.size
  }

  look(): void {
    this.abandoned = 0
    this.attempts.forEach(({ client }) => {
      if (client.isClosed) this.abandoned += 1
    })
  }

  /** Opens a tunnel for an admitted client, or returns the reason why not. */
  open(access: Access, target: ConnectTarget, client: Side): MaybeOpened {
    const closed = this.deps.closedFor()
    if (closed) return { refusal: closed }
    const max = access.kind === 'premium' ? access.subuser.tunnels : null
    const denied = access.kind === 'hop' ? undefined : this.deps.limits.enter(access.owner, access.key, max)
    if (denied) return { refusal: denied }
    const fresh = { failed: none, refusal: undefined, hasLeft: false, diallingIndex: notInSet }
    return this.choose({ access, target, client, ...fresh })
  }

  /** Hops have no limits here: the other gateway keeps its customers' limits. */
  private releaseSlot(access: Access): void {
    if (access.kind !== 'hop') this.deps.limits.leave(access.owner, access.key)
  }

  private leave(entry: DialAttempt): void {
    if (!entry.hasLeft) this.releaseSlot(entry.access)
    entry.hasLeft = true
  }

  private refuse(entry: DialAttempt, refusal: RefusalCode): Refused {
    this.leave(entry)
    return { refusal }
  }

  private fail(entry: DialAttempt, fault: unknown): never {
    this.attempts.delete(entry)
    this.leave(entry)
    throw fault
  }

  /** The connection attempt ended; access is checked again. */
  private arrive(entry: DialAttempt, { way, allowance }: ChosenWay, dialled: Dialled<Side>): MaybeOpened {
    const { access, target, client } = entry
    this.attempts.delete(entry)
    if ('refusal' in dialled) {
      if (dialled.refusal === 'gateway_full') this.starved += 1
      return this.goElsewhere(entry, way, dialled)
    }
    const refusal = client.isClosed ? 'gateway_stopping' : accessRefusal(access, this.deps.snapshot, this.deps.moment())
    if (refusal) {
      dialled.origin.abort()
      return this.refuse(entry, refusal)
    }
    const host = access.kind === 'premium' && access.subuser.keep_hosts ? target.host : undefined
    const exit = access.kind === 'premium' && way.kind === 'exit' ? way.exit.id : undefined
    const meter = this.metering.begin(allowance, client, access.owner, host, exit)
    const { origin, early = nothing, leftFrom } = dialled
    const tunnel = new ProxyTunnel(access, origin, early, meter, leftFrom, this.deps.moment().nowMs, this)
    this.deps.open.add(tunnel)
    return tunnel
  }

  /** Tries another exit unless the login asked for this one. */
  private goElsewhere(entry: DialAttempt, way: ChosenWay['way'], failure: ExitRefusal): MaybeOpened {
    if (way.kind !== 'exit' || !mayGoElsewhere(entry.access, failure)) return this.refuse(entry, failure.refusal)
    entry.failed = [...entry.failed, way.exit]
    entry.refusal = failure.refusal
    if (entry.failed.length >= maxExitsPerTunnel || entry.client.isClosed) return this.refuse(entry, failure.refusal)
    return this.choose(entry)
  }

  private choose(entry: DialAttempt): MaybeOpened {
    const chosen = this.guard(entry, () => this.deps.chooseWay(entry.access, entry.failed))
    if (!(chosen instanceof Promise)) return this.go(entry, chosen)
    return chosen.then(
      (known) => this.go(entry, known),
      (fault: unknown) => this.fail(entry, fault),
    )
  }

  private go(entry: DialAttempt, chosen: ChosenWay | Refused): MaybeOpened {
    if ('refusal' in chosen) return this.refuse(entry, entry.refusal ?? chosen.refusal)
    this.attempts.add(entry)
    return this.guard(entry, () => {
      const dialled = this.deps.dial(entry.target, chosen.way, entry.access.owner)
      if (!(dialled instanceof Promise)) return this.arrive(entry, chosen, dialled)
      return dialled.then(
        (outcome) => this.guard(entry, () => this.arrive(entry, chosen, outcome)),
        (fault: unknown) => this.fail(entry, fault),
      )
    })
  }

  /** After an error the attempt no longer counts towards the customer's limit. */
  private guard<Result>(entry: DialAttempt, act: () => Result): Result {
    try {
      return act()
    } catch (fault) {
      return this.fail(entry, fault)
    }
  }
}

/** The exit failed, not the destination, and no session pins the exit. */
const mayGoElsewhere = (access: Access, failure: ExitRefusal): boolean =>
  access.kind === 'premium' &&
  access.login.session === null &&
  (failure.problem !== undefined || failure.refusal === 'address_unavailable')
