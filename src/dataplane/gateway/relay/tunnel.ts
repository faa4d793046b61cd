import type { MaybePromise } from '../../../core/maybe-promise.ts'
import { notInSet, type SetIndex, SwapRemoveSet } from '../../../core/swap-remove-set.ts'
import type { NodeExit } from '../../../node-protocol/state.ts'
import type { Snapshot } from '../../agent/snapshot.ts'
import { type Access, accessRefusal, type Moment } from '../access/admission.ts'
import type { ChosenWay, createWayChooser } from '../access/exit-choice.ts'
import type { TunnelLimits } from '../access/limits.ts'
import type { createRecheck } from '../access/recheck.ts'
import type { RefusalCode } from '../access/refusals.ts'
import type { Dial, Dialled } from '../dial/dial.ts'
import type { ExitRefusal } from '../dial/upstream.ts'
import type { Metering } from '../metering/metering.ts'
import type { TunnelMeter } from '../metering/tunnel-meter.ts'
import type { ConnectTarget } from '../protocol/authority.ts'
import type { Side } from './side.ts'
import type { Sockets } from './sockets.ts'

/** An admitted client connection with its connection to the destination. */
export type ProxyTunnel = {
  readonly access: Access
  readonly origin: Side
  readonly early: Uint8Array
  readonly meter: TunnelMeter
  readonly sockets: Sockets
  /** Header fields for HTTP clients. */
  readonly extra: Readonly<Record<string, string>> | undefined
  activeAt: number
  isHalfOpen: boolean
  openIndex: SetIndex
  /** Set by the relay. */
  relay: { cut(): void } | undefined
  /** Closes both sides at once. */
  cut(): void
  finish(): void
}

type TunnelContext = { readonly sockets: Sockets; end(tunnel: ProxyTunnel): void }

/** A class without closures, to keep idle tunnels small. */
class OpenTunnel implements ProxyTunnel {
  isHalfOpen = false
  openIndex: SetIndex = notInSet
  relay: { cut(): void } | undefined

  constructor(
    readonly access: Access,
    readonly origin: Side,
    readonly early: Uint8Array,
    readonly meter: TunnelMeter,
    readonly extra: Readonly<Record<string, string>> | undefined,
    public activeAt: number,
    private readonly around: TunnelContext,
  ) {}

  get sockets(): Sockets {
    return this.around.sockets
  }

  cut(): void {
    this.relay?.cut()
  }

  finish(): void {
    this.around.end(this)
  }
}

/** Starts to relay a tunnel. The byte arrays were received before. */
export type StartRelay = (client: Side, tunnel: ProxyTunnel, fromClient: Uint8Array, fromOrigin: Uint8Array) => void

/** A tunnel whose destination is being connected. */
type Dialling = {
  readonly access: Access
  readonly target: ConnectTarget
  readonly client: Side
  /** Exits that failed. */
  failed: readonly NodeExit[]
  /** Reason of the last failure. */
  refusal: RefusalCode | undefined
  /** Its place in the customer's limit is released. */
  hasLeft: boolean
  diallingIndex: SetIndex
}

/** Exits tried per tunnel. */
const maxExits = 3

type Refused = { readonly refusal: RefusalCode }
const nothing = new Uint8Array(0)
const none: readonly NodeExit[] = []

export type ProxyTunnels = ReturnType<typeof createTunnels>

export function createTunnels(deps: {
  snapshot: Snapshot
  moment: () => Moment
  limits: TunnelLimits
  chooseWay: ReturnType<typeof createWayChooser>
  dial: Dial<Side>
  metering: Metering<Side>
  sockets: Sockets
  open: ReturnType<typeof createRecheck<ProxyTunnel>>
  /** Why no new tunnel can be opened, or undefined. */
  closedFor: () => RefusalCode | undefined
}) {
  const { metering, sockets } = deps
  const dialling = new SwapRemoveSet<'diallingIndex', Dialling>('diallingIndex')
  let abandoned = 0
  let starved = 0

  /** Hops have no limits here: the other gateway keeps its customers' limits. */
  function leavePlace(access: Access): void {
    if (access.kind !== 'hop') deps.limits.leave(access.owner, access.key)
  }

  function leave(entry: Dialling): void {
    if (!entry.hasLeft) leavePlace(entry.access)
    entry.hasLeft = true
  }

  function refuse(entry: Dialling, refusal: RefusalCode): Refused {
    leave(entry)
    return { refusal }
  }

  function fail(entry: Dialling, fault: unknown): never {
    dialling.delete(entry)
    leave(entry)
    throw fault
  }

  /** The connection attempt ended; access is checked again. */
  function arrive(
    entry: Dialling,
    { way, allowance }: ChosenWay,
    dialled: Dialled<Side>,
  ): MaybePromise<ProxyTunnel | Refused> {
    const { access, target, client } = entry
    dialling.delete(entry)
    if ('refusal' in dialled) {
      if (dialled.refusal === 'gateway_full') starved += 1
      return goElsewhere(entry, way, dialled)
    }
    const refusal = client.isClosed ? 'gateway_stopping' : accessRefusal(access, deps.snapshot, deps.moment())
    if (refusal) {
      dialled.origin.abort()
      return refuse(entry, refusal)
    }
    const host = access.kind === 'premium' && access.subuser.keep_hosts ? target.host : undefined
    const exit = access.kind === 'premium' && way.kind === 'exit' ? way.exit.id : undefined
    return begin(access, dialled, metering.begin(allowance, client, access.owner, host, exit))
  }

  /** Tries another exit unless the login asked for this one. */
  function goElsewhere(
    entry: Dialling,
    way: ChosenWay['way'],
    failure: ExitRefusal,
  ): MaybePromise<ProxyTunnel | Refused> {
    if (way.kind !== 'exit' || !mayGoElsewhere(entry.access, failure)) return refuse(entry, failure.refusal)
    entry.failed = [...entry.failed, way.exit]
    entry.refusal = failure.refusal
    if (entry.failed.length >= maxExits || entry.client.isClosed) return refuse(entry, failure.refusal)
    return choose(entry)
  }

  function choose(entry: Dialling): MaybePromise<ProxyTunnel | Refused> {
    const chosen = guard(entry, () => deps.chooseWay(entry.access, entry.failed))
    if (!(chosen instanceof Promise)) return go(entry, chosen)
    return chosen.then(
      (known) => go(entry, known),
      (fault: unknown) => fail(entry, fault),
    )
  }

  function go(entry: Dialling, chosen: ChosenWay | Refused): MaybePromise<ProxyTunnel | Refused> {
    if ('refusal' in chosen) return refuse(entry, entry.refusal ?? chosen.refusal)
    dialling.add(entry)
    return guard(entry, () => {
      const dialled = deps.dial(entry.target, chosen.way, entry.access.owner)
      if (!(dialled instanceof Promise)) return arrive(entry, chosen, dialled)
      return dialled.then(
        (outcome) => guard(entry, () => arrive(entry, chosen, outcome)),
        (fault: unknown) => fail(entry, fault),
      )
    })
  }

  /** Errors must not leak the customer's place. */
  function guard<Result>(entry: Dialling, act: () => Result): Result {
    try {
      return act()
    } catch (fault) {
      return fail(entry, fault)
    }
  }

  function begin(
    access: Access,
    { origin, early, leftFrom }: Exclude<Dialled<Side>, ExitRefusal>,
    meter: TunnelMeter,
  ): ProxyTunnel {
    const extra = leftFrom === undefined ? undefined : { 'X-Turnpike-Left-From': leftFrom }
    const tunnel = new OpenTunnel(access, origin, early ?? nothing, meter, extra, deps.moment().nowMs, around)
    deps.open.add(tunnel)
    return tunnel
  }

  const around: TunnelContext = {
    sockets,
    end(tunnel) {
      if (!deps.open.remove(tunnel)) return
      metering.finish(tunnel.meter)
      leavePlace(tunnel.access)
    },
  }

  return {
    get dialling(): number {
      return dialling.size
    },
    /** Dialling tunnels whose client had gone at the last look(). */
    get abandoned(): number {
      return abandoned
    },
    get starved(): number {
      return starved
    },
    look(): void {
      abandoned = 0
      dialling.forEach(({ client }) => {
        if (client.isClosed) abandoned += 1
      })
    },

    /** Opens a tunnel for an admitted client, or returns the reason why not. */
    open(access: Access, target: ConnectTarget, client: Side): MaybePromise<ProxyTunnel | Refused> {
      const closed = deps.closedFor()
      if (closed) return { refusal: closed }
      const max = access.kind === 'premium' ? access.subuser.tunnels : null
      const denied = access.kind === 'hop' ? undefined : deps.limits.enter(access.owner, access.key, max)
      if (denied) return { refusal: denied }
      const fresh = { failed: none, refusal: undefined, hasLeft: false, diallingIndex: notInSet }
      return choose({ access, target, client, ...fresh })
    },
  }
}

/** The exit failed, not the destination, and no session pins the exit. */
const mayGoElsewhere = (access: Access, failure: ExitRefusal): boolean =>
  access.kind === 'premium' &&
  access.login.session === null &&
  (failure.problem !== undefined || failure.refusal === 'address_unavailable')
