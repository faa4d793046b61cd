import type { NodeExit } from '../../../wire/node/state.ts'
import type { Snapshot } from '../../agent/snapshot.ts'
import type { Metering } from '../count/metering.ts'
import type { Tally } from '../count/tally.ts'
import { type Access, type Moment, ownerOf, standing } from '../decide/admit.ts'
import type { TunnelLimits } from '../decide/limits.ts'
import type { createRecheck } from '../decide/recheck.ts'
import type { RefusalCode } from '../decide/refusals.ts'
import type { createWayChooser, Way } from '../decide/way.ts'
import type { Target } from '../protocol/authority.ts'
import type { Dial, Dialled, ExitRefusal } from '../reach/dial.ts'
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
  readonly extra: Readonly<Record<string, string>>
  activeAt: number
  isHalfOpen: boolean
  /** Set by whoever carries the bytes. */
  cut: () => void
  /** It is over, whoever ended it. */
  finish(): void
}

/** Takes over a customer's connection and its passage. The two texts came before there was anybody to pass them to. */
export type CarryTunnel = (client: Side, passage: Passage, fromClient: Uint8Array, fromOrigin: Uint8Array) => void

/** How many exits one connection may be tried through. */
const mostExits = 3

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

  async function pass(access: Access, target: Target, client: Side): Promise<Passage | Refused> {
    const reached = await reach(access, target, client)
    if ('refusal' in reached) return reached
    const { chosen, dialled } = reached
    // Much may have happened while the connection was made.
    const refusal = client.isClosed ? 'gateway_stopping' : standing(access, deps.snapshot, deps.moment())
    if (refusal) {
      dialled.origin.abort()
      return { refusal }
    }
    const keepsHosts = access.kind === 'premium' && access.subuser.keep_hosts
    const host = keepsHosts ? target.host : undefined
    const exit = access.kind === 'premium' && chosen.way.kind === 'exit' ? chosen.way.exit.id : undefined
    const tally = metering.begin(chosen.allowance, client, ownerOf(access), host, exit)
    return begin(access, dialled, tally)
  }

  /** Whoever has not asked for one exit leaves through another when the first fails. */
  async function reach(access: Access, target: Target, client: Side) {
    const failed: NodeExit[] = []
    for (let refused: Refused | undefined; ; ) {
      const chosen = await deps.chooseWay(access, failed)
      if ('refusal' in chosen) return refused ?? chosen
      const dialled = await dial(target, chosen.way, access, client)
      if ('origin' in dialled) return { chosen, dialled }
      refused = { refusal: dialled.refusal }
      if (chosen.way.kind !== 'exit' || !mayGoElsewhere(access, dialled)) return refused
      failed.push(chosen.way.exit)
      if (failed.length >= mostExits || client.isClosed) return refused
    }
  }

  async function dial(target: Target, way: Way, access: Access, client: Side): Promise<Dialled<Side>> {
    const entry = { client }
    dialling.add(entry)
    try {
      const dialled = await deps.dial(target, way, ownerOf(access))
      if ('refusal' in dialled && dialled.refusal === 'gateway_full') starved += 1
      return dialled
    } finally {
      dialling.delete(entry)
    }
  }

  function leave(access: Access): void {
    if (access.kind !== 'hop') deps.limits.leave(ownerOf(access), access.key)
  }

  function begin(
    access: Access,
    { origin, early, leftFrom }: Exclude<Dialled<Side>, ExitRefusal>,
    tally: Tally,
  ): Passage {
    const passage: Passage = {
      access,
      origin,
      early,
      tally,
      sockets,
      extra: leftFrom === undefined ? {} : { 'X-Turnpike-Left-From': leftFrom },
      activeAt: deps.moment().nowMs,
      isHalfOpen: false,
      cut: () => {},
      finish() {
        if (!deps.open.remove(passage)) return
        metering.finish(tally)
        leave(access)
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
    async open(access: Access, target: Target, client: Side): Promise<Passage | Refused> {
      const closed = deps.closedFor()
      if (closed) return { refusal: closed }
      const most = access.kind === 'premium' ? access.subuser.tunnels : null
      // Of another gateway's customers none is known here; that gateway keeps their limits.
      const denied = access.kind === 'hop' ? undefined : deps.limits.enter(ownerOf(access), access.key, most)
      if (denied) return { refusal: denied }
      const passage = await pass(access, target, client).catch((error: unknown) => {
        leave(access)
        throw error
      })
      if ('refusal' in passage) leave(access)
      return passage
    },
  }
}

/** The exit is to blame, not the destination, and no session wants that very exit. */
const mayGoElsewhere = (access: Access, failure: ExitRefusal): boolean =>
  access.kind === 'premium' &&
  access.login.session === null &&
  (failure.problem !== undefined || failure.refusal === 'address_unavailable')
