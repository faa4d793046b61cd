import { type Soon, soon } from '../../../kernel/soon.ts'
import type { Snapshot } from '../../agent/snapshot.ts'
import type { Allowance } from '../count/allowance.ts'
import type { Metering } from '../count/metering.ts'
import type { Tally } from '../count/tally.ts'
import { type Access, type Moment, standing } from '../decide/admit.ts'
import type { TunnelLimits } from '../decide/limits.ts'
import type { createRecheck } from '../decide/recheck.ts'
import type { RefusalCode } from '../decide/refusals.ts'
import type { createWayChooser } from '../decide/way.ts'
import type { Target } from '../protocol/authority.ts'
import type { Dial, Dialled } from '../reach/dial.ts'
import type { Side } from './side.ts'
import type { Sockets } from './sockets.ts'

/** A way through, from one customer's connection to one destination. */
export type Passage = {
  readonly access: Access
  readonly origin: Side
  readonly early: Uint8Array
  readonly tally: Tally
  /** What the system can be told about its two sockets. */
  readonly sockets: Sockets
  /** Facts for whoever can be told them: HTTP clients. */
  readonly extra: Readonly<Record<string, string>> | undefined
  activeAt: number
  isHalfOpen: boolean
  /** Set by whoever carries the bytes. */
  cut: () => void
  /** It is over, whoever ended it. */
  finish(): void
}

/** Takes over a customer's connection and its passage. The two texts came before there was anybody to pass them to. */
export type CarryTunnel = (client: Side, passage: Passage, fromClient: Uint8Array, fromOrigin: Uint8Array) => void

type Refused = { readonly refusal: RefusalCode }
export type Passages = ReturnType<typeof createPassages>

export function createPassages(deps: {
  snapshot: Snapshot
  moment: () => Moment
  limits: TunnelLimits
  chooseWay: ReturnType<typeof createWayChooser>
  dial: Dial<Side>
  metering: Metering<Side>
  sockets: Sockets
  open: ReturnType<typeof createRecheck<Passage>>
  /** Why nobody new can be carried now, if so. */
  closedFor: () => RefusalCode | undefined
}) {
  const { metering, sockets } = deps
  /** Customers whose destinations are being connected to. */
  const dialling = new Set<{ readonly client: Side }>()
  let abandoned = 0
  let starved = 0

  /** Much may have happened while the connection was made. */
  function arrive(
    access: Access,
    target: Target,
    client: Side,
    allowance: Allowance,
    dialled: Dialled<Side>,
  ): Passage | Refused {
    if ('refusal' in dialled) {
      if (dialled.refusal === 'gateway_full') starved += 1
      return dialled
    }
    const refusal = client.isClosed ? 'gateway_stopping' : standing(access, deps.snapshot, deps.moment())
    if (refusal) {
      dialled.origin.abort()
      return { refusal }
    }
    const keepsHosts = access.kind === 'premium' && access.subuser.keep_hosts
    return begin(access, dialled, metering.begin(allowance, client, access.owner, keepsHosts ? target.host : undefined))
  }

  function pass(access: Access, target: Target, client: Side): Soon<Passage | Refused> {
    return soon(deps.chooseWay(access), (chosen) => {
      if ('refusal' in chosen) return chosen
      const dialled = deps.dial(target, chosen.way, access.owner)
      if (!(dialled instanceof Promise)) return arrive(access, target, client, chosen.allowance, dialled)
      const entry = { client }
      dialling.add(entry)
      return dialled.then(
        (outcome) => {
          dialling.delete(entry)
          return arrive(access, target, client, chosen.allowance, outcome)
        },
        (fault: unknown) => {
          dialling.delete(entry)
          throw fault
        },
      )
    })
  }

  function begin(access: Access, { origin, early, leftFrom }: Exclude<Dialled<Side>, Refused>, tally: Tally): Passage {
    const passage: Passage = {
      access,
      origin,
      early,
      tally,
      sockets,
      extra: leftFrom === undefined ? undefined : { 'X-Turnpike-Left-From': leftFrom },
      activeAt: deps.moment().nowMs,
      isHalfOpen: false,
      cut: () => {},
      finish() {
        if (!deps.open.remove(passage)) return
        metering.finish(tally)
        deps.limits.leave(access.owner, access.key)
      },
    }
    deps.open.add(passage)
    return passage
  }

  return {
    /** Connections to destinations that are being made; a place of the customer's is taken for each. */
    get dialling(): number {
      return dialling.size
    },
    /** Those of them whose customer had gone when look() looked. */
    get abandoned(): number {
      return abandoned
    },
    /** How often the system had nothing left to connect with. */
    get starved(): number {
      return starved
    },
    look(): void {
      abandoned = 0
      for (const { client } of dialling) if (client.isClosed) abandoned += 1
    },

    /** Opens a way for somebody who was let in, or says why not. */
    open(access: Access, target: Target, client: Side): Soon<Passage | Refused> {
      const closed = deps.closedFor()
      if (closed) return { refusal: closed }
      const most = access.kind === 'premium' ? access.subuser.tunnels : null
      const denied = deps.limits.enter(access.owner, access.key, most)
      if (denied) return { refusal: denied }
      const leave = (): void => deps.limits.leave(access.owner, access.key)
      return guarded(() => pass(access, target, client), leave)
    },
  }
}

/** Undoes what was taken, should there be no passage in the end. */
function guarded(open: () => Soon<Passage | Refused>, undo: () => void): Soon<Passage | Refused> {
  const look = (passage: Passage | Refused): Passage | Refused => {
    if ('refusal' in passage) undo()
    return passage
  }
  const fail = (fault: unknown): never => {
    undo()
    throw fault
  }
  try {
    const passage = open()
    return passage instanceof Promise ? passage.then(look, fail) : look(passage)
  } catch (fault) {
    return fail(fault)
  }
}
