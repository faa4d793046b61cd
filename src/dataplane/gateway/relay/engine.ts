import type { Agent, Carrier } from '../../agent/carrier.ts'
import type { Changed, Snapshot } from '../../agent/snapshot.ts'
import type { TlsSocket } from '../../tls/tls-socket.ts'
import type { Ask } from '../access/admission.ts'
import type { ExitWord } from '../access/exit-health.ts'
import type { CustomerLimits } from '../access/limits.ts'
import type { Policy } from '../access/policy.ts'
import type { Lookup } from '../dial/resolve.ts'
import type { Speeds } from '../metering/speed-limit.ts'

/** How long a client may take for what it has to say. */
export type Patience = { readonly handshakeMs: number; readonly betweenRequestsMs: number }

export type EngineLimits = Patience & {
  readonly connectMs: number
  readonly idleMs: number
  /** How long a refusal of a name or password takes, at the least. */
  readonly refusalDelayMs: number
  /** After how long an exit that is down is tried again, the first time. */
  readonly exitRetryMs: number
  readonly connections: number
  /** Ports that stand for customers. */
  readonly ports: number
  readonly customer: CustomerLimits
}

/** What an engine is given, whatever it carries with. Instants are those of the shop's clock. */
export type EngineDeps = {
  /** What is to be carried. Whoever changes it tells the engine with changed(). */
  readonly snapshot: Snapshot
  readonly agent: Agent
  readonly ask: Ask
  readonly policy: () => Policy
  /** How fast credentials may carry, as the shop last said. No limit unless given. */
  readonly speeds?: () => Speeds
  readonly limits: EngineLimits
  readonly clock: () => number
  /** When the shop was last heard. */
  readonly lastContactAt: () => number
  readonly sha256: (text: string) => Uint8Array
  readonly random: () => number
  /** Who this gateway is among the others, and the private key that it signs hops with. */
  readonly hop: { readonly node: string; readonly privateKey: string }
  /** An exit was tried for the first time, or has come or gone. */
  readonly onExit: (word: ExitWord) => void
  /** A bug of ours, to be written down. */
  readonly onFault: (fault: unknown) => void
  /** Looks names up instead of the system's resolver. */
  readonly lookup?: Lookup
}

/** How often there was not enough, since the beginning. */
export type Pressure = {
  /** Connections that waited and were closed to make room for others. */
  readonly spared: number
  /** Newcomers for whom there was no room. */
  readonly turnedAway: number
  /** Requests for which the system had no descriptor or memory left. */
  readonly starved: number
}

/**
 * Carries customers' bytes. It is a loop of its own: it is fed changes of the snapshot and allowances, is asked for its
 * counters, and asks for what it lacks. What it speaks, decides, reaches and counts is in the folders beside this one;
 * how bytes move is its own affair.
 */
export type Engine = {
  /** Its counters, and where allowances are handed in. */
  readonly carrier: Carrier
  /**
   * Begins to serve. Returns the port, for whoever asked for any. Throws what the system says when it cannot listen.
   * Ports that were `inherited` are open already, by number and descriptor: nobody who waits there is lost. They are
   * the engine's from now on; those that stand for nobody are closed.
   */
  start(at: {
    readonly hostname: string
    readonly port: number
    readonly inherited?: ReadonlyMap<number, number>
  }): number
  /** The ports that it listens on, with the system's numbers for them, for another process to listen on as well. */
  listeners(): readonly { readonly port: number; readonly descriptor: number }[]
  /**
   * Another process listens from now on. Whoever has come goes on as if nothing had happened; settles when nobody else
   * can come.
   */
  leave(): Promise<void>
  /** Serves somebody who came over TLS, as if he had come to the first port. Nothing was read from him yet. */
  takeTls(tls: TlsSocket): void
  /**
   * The snapshot has changed: whoever it is about and may no longer pass is cut off, nobody else; ports are opened, as
   * many as there is room for, and closed.
   */
  changed(change: Changed, onPortFailure: (port: number, error: unknown) => void): void
  /** The shop does not know this node any more: everybody is cut off and nobody let in, until it does again. */
  shutOut(yes: boolean): void
  /** Takes nobody new, lets what is open end by itself for a while, then ends it. */
  stop(drainMs: number): Promise<void>
  /**
   * What is open: accepted connections, those of them at their handshake or resting, those carried, those being made to
   * destinations, those closed and not acknowledged yet, and ports; and the most bytes that one peer who does not read
   * has made it keep.
   */
  readonly standing: Pressure & {
    readonly open: number
    readonly connections: number
    readonly passages: number
    readonly dialling: number
    readonly settling: number
    readonly listeners: number
    readonly mostHeld: number
  }
}

/** The most that was held for one peer that does not take it: what such a peer costs, and a promise to the operator. */
export function createHeldGauge() {
  let mostHeld = 0
  return {
    note: (bytes: number): void => {
      if (bytes > mostHeld) mostHeld = bytes
    },
    get mostHeld(): number {
      return mostHeld
    },
  }
}

/** So many ports stay closed: each is a file, and without files left nobody could be answered. */
export const noRoom = (left: number, most: number): Error =>
  new Error(`no room for ${left} ports of customers: at most ${most} within the limit of open files (ulimit -n)`)
