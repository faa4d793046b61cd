import type { Address } from '../../core/address.ts'
import type { CustomerId } from '../../core/ids.ts'
import { malformed } from '../../core/refusal.ts'
import type { Tx } from '../../db/transaction.ts'
import type { VpnSetup } from '../../node-protocol/join.ts'
import type { ReportAnswer, ReportBody, ReportPart } from '../../node-protocol/report.ts'
import type { FindBody, Found, StatePart, StateParts } from '../../node-protocol/state.ts'
import type { TriedBody } from '../../node-protocol/tried.ts'
import type { Node, NodeKind } from './rules.ts'

/** Where a reader of changes is: the moment and the id of the last thing it was told. */
export type Position = { readonly changedAt: number; readonly id: string }

/** A position among numbered things; before the first stands nothing. What is no number was not given out here. */
export function numberOf({ id }: Position): number {
  if (id === '') return -1
  if (/^\d{1,15}$/.test(id)) return Number(id)
  throw malformed([{ field: 'cursor', problem: 'was not given to this node; begin again without one' }])
}

/** One thing that nodes are told, all of it, so that hearing it twice changes nothing. */
export type Told<Shape = unknown> = { readonly id: string; readonly changedAt: number; readonly shape: Shape }

/** What nodes are told of one sort of thing, in the order of changes. */
export type ToldTable<Part extends StatePart = StatePart> = {
  readonly name: Part
  /**
   * What changed after a position, oldest change first, a page at a time; `thereOnly` leaves out what is gone. Times of
   * change are given before a commit, so a change may become visible a little after a later one: a reader asks again
   * from before what it has heard.
   */
  readonly read: (after: Position, limit: number, thereOnly: boolean) => Promise<readonly Told<StateParts[Part]>[]>
  /** What one node is told of a thing, where that is less than what others are told. */
  forNode?(shape: StateParts[Part], node: string): StateParts[Part]
}

/** For how many customers' things bytes were given back, and how many. */
export type Forgotten = { readonly things: number; readonly bytes: bigint }

/**
 * The side of a product that its nodes see, the same verbs for each. Whoever talks to nodes goes through a list of
 * these and knows no product by name.
 */
export type NodeSide = {
  /** Which nodes carry it. */
  readonly kind: NodeKind
  readonly tables: readonly ToldTable[]
  /**
   * Another text whenever anything that nodes are told changed at a moment or later. It is asked for a few times a
   * second.
   */
  readonly mark: (sinceAt: number) => Promise<string>
  /**
   * One credential that a node has not heard of yet. Undefined when it is not this product's; what is gone is found as
   * nothing.
   */
  readonly find?: (asked: FindBody) => Promise<Found | undefined>
  /** What a node of this kind needs besides what it is told. */
  readonly setup?: (node: Node, privateKey: string) => VpnSetup
  /** The parts of a report that are about this product. */
  readonly parts: readonly ReportPart[]
  /** Takes what a node has carried. It may come twice, late or out of order. */
  readonly report: (node: string, body: ReportBody) => Promise<Omit<ReportAnswer, 'now'> | undefined>
  /**
   * Takes what a node says of what it was told to try. Each thing is said whole, so it may come twice or late.
   * `isLocal`: it came over the shop's own socket.
   */
  readonly tried?: (node: string, body: TriedBody, isLocal: boolean) => Promise<void>
  /** A node has called, and the shop saw this address. */
  readonly seen?: (node: string, from: Address) => Promise<void>
  /**
   * Undoes what a node has claimed since a moment: customers get back what it took. A dry run only tells what that
   * would be. It may be called again, and finds nothing left to do.
   */
  readonly forgetUsage: (node: string, sinceAt: number, dryRun: boolean) => Promise<Forgotten>
  /** Makes nodes look again at all that a customer has. */
  readonly touch: (tx: Tx, customer: CustomerId) => void
}
