import type { MessagePort } from 'node:worker_threads'
import type { FindBody, Found, StatePage } from '../../../../node-protocol/state.ts'
import type { NodeCounts, Reported } from '../../../agent/data-path.ts'
import type { DevicePlace, ProvenPlace } from '../../../agent/places.ts'
import type { GoneItems } from '../../../agent/snapshot.ts'
import type { ExitReport } from '../../access/exit-health.ts'
import type { AskPlaces } from '../../access/machines.ts'
import type { Policy } from '../../access/policy.ts'
import type { Lookup } from '../../dial/resolve.ts'
import type { Speeds } from '../../metering/speed-limit.ts'
import type { EngineDeps } from '../shared/engine.ts'
import type { LimitMemory } from './shared-limits.ts'
import type { FromTlsClients, ToTlsClients } from './tls-clients.ts'

export type ReactorTerms = Pick<EngineDeps, 'limits' | 'hop'> & {
  readonly inbox: MessagePort
  /** This reactor's place among `reactors`. */
  readonly thread: number
  /** The memory of each reactor of the gateway, and an eventfd that wakes it. */
  readonly reactors: readonly { readonly memory: SharedArrayBuffer; readonly bell: number }[]
  /** Limits that hold for all reactors together; undefined for a single one. */
  readonly shared: LimitMemory | undefined
  readonly isStrict: boolean
}

export type StateChange = Partial<Pick<StatePage, 'proxies' | 'subusers' | 'exits' | 'gateways' | 'devices'>> & {
  readonly gone?: GoneItems
}

type Addresses = Awaited<ReturnType<Lookup>>

/** Sends the messages of one turn to another thread together: a post costs more than a message. */
export class Outbox<Message> {
  private waiting: Message[] = []

  constructor(
    private readonly send: (messages: readonly Message[]) => void,
    /** Runs at the end of the turn. */
    private readonly defer: (act: () => void) => void,
  ) {}

  readonly post = (message: Message): void => {
    if (this.waiting.push(message) === 1) this.defer(this.flush)
  }

  private readonly flush = (): void => {
    const messages = this.waiting
    this.waiting = []
    this.send(messages)
  }
}

/** From the main thread to a reactor. */
export type ToReactor =
  | { readonly type: 'listen'; readonly descriptor: number; readonly port: number }
  /** The port without a customer. */
  | { readonly type: 'main-port'; readonly port: number }
  | { readonly type: 'unlisten'; readonly descriptor: number }
  /** It accepts connections for all reactors and checks the exits. */
  | { readonly type: 'lead' }
  /** The state of an exit that another reactor has found. */
  | { readonly type: 'exit-state'; readonly report: ExitReport }
  /** Another reactor needs bytes of this lease. */
  | { readonly type: 'reclaim'; readonly id: string; readonly pool: string }
  | { readonly type: 'tls'; readonly messages: readonly ToTlsClients[] }
  /** The main thread has duplicated the descriptor of a hop. */
  | { readonly type: 'hop-taken'; readonly descriptor: number }
  | { readonly type: 'state'; readonly change: StateChange }
  | { readonly type: 'policy'; readonly policy: Policy }
  | { readonly type: 'speeds'; readonly speeds: Speeds }
  /** `known`: what the main thread knows of the login, after the shop's answer if there was one. */
  | { readonly type: 'answer'; readonly ticket: number; readonly known: Found; readonly isAnswered: boolean }
  | { readonly type: 'place'; readonly ticket: number; readonly isAdmitted: boolean }
  /** These machines may not use their VPN devices any more. */
  | { readonly type: 'machines-refused'; readonly places: readonly DevicePlace[] }
  | { readonly type: 'looked-up'; readonly ticket: number; readonly answer: Addresses | { readonly code: string } }
  | { readonly type: 'allow'; readonly id: string; readonly pool: string; readonly upto: number }
  | { readonly type: 'refused'; readonly yes: boolean }
  | { readonly type: 'drain' }
  | { readonly type: 'begin-stop' }
  | { readonly type: 'end-stop' }

/** From a reactor to the main thread. */
export type FromReactor =
  | { readonly type: 'ask'; readonly ticket: number; readonly question: FindBody; readonly source: string }
  /** Whether a machine may open its first tunnel. */
  | { readonly type: 'ask-place'; readonly ticket: number; readonly of: ProvenPlace }
  | { readonly type: 'active-places'; readonly active: Parameters<AskPlaces['touch']>[0] }
  | { readonly type: 'look-up'; readonly ticket: number; readonly name: string; readonly version: 4 | 6 }
  | { readonly type: 'unlistened'; readonly descriptor: number }
  | { readonly type: 'tls'; readonly messages: readonly FromTlsClients[] }
  /** The far end of a hop over TLS; the main thread duplicates the descriptor. */
  | HopMessage
  /** `left`: unused bytes of its part of the lease, which ends at `upto`. */
  | { readonly type: 'want-lease'; readonly id: string; readonly pool: string; readonly left: number }
  | {
      readonly type: 'give-back' | 'reclaimed'
      readonly id: string
      readonly pool: string
      readonly upto: number
      readonly left: number
      /** Messages `allow` that the reactor had read by then. */
      readonly answers: number
    }
  | CountsMessage
  | { readonly type: 'exit'; readonly report: ExitReport }
  | { readonly type: 'fault'; readonly fault: unknown }
  | { readonly type: 'stopped' }
  /** Nothing is open any more. */
  | { readonly type: 'ended' }

export type HopMessage = {
  readonly type: 'hop'
  readonly gateway: string
  readonly descriptor: number
  readonly memory: SharedArrayBuffer
}

/** Counts since the reactor started, and lease states of the same instant. */
export type CountsMessage = {
  readonly type: 'counts'
  readonly counts: NodeCounts
  readonly leased: readonly LeaseStatus[]
  readonly sources: readonly Reported<'sources'>[]
  /** Journal now. */
  readonly isUrgent: boolean
}

/** Uncounted bytes on their way, and the rate. */
export type LeaseStatus = { readonly id: string; readonly pool: string; readonly moving: number; readonly pace: number }
