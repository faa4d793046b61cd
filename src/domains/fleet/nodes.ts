import type { Address } from '../../core/address.ts'
import type { BoundCases } from '../../core/bind.ts'
import type { CustomerId } from '../../core/ids.ts'
import { Refusal, refuseField } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import type { VpnSetup } from '../../node-protocol/join.ts'
import type { PlacesBody } from '../../node-protocol/places.ts'
import type { ReportAnswer, ReportBody, ReportPart, VanishedItem } from '../../node-protocol/report.ts'
import type { FindBody, Found, NodeGateway, StatePart, StateParts } from '../../node-protocol/state.ts'
import type { TriedBody } from '../../node-protocol/tried.ts'
import type * as cases from './join.ts'
import type { Endpoint, HopTls, Node, NodeKind } from './rules.ts'
import * as store from './store.ts'

/** Keyset position in the changes: the moment and the id of the last one that was read. */
export type Position = { readonly changedAt: number; readonly id: string }

/** The number of a position among numbered things; -1 before the first. */
export function numberOf({ id }: Position): number {
  if (id === '') return -1
  if (/^\d{1,15}$/.test(id)) return Number(id)
  throw refuseField('cursor', 'node_cursor')
}

/** The whole state of one thing that is sent to nodes, so that repeating it changes nothing. */
export type StateRow<Shape = unknown> = { readonly id: string; readonly changedAt: number; readonly shape: Shape }

/** The node that reads a page. */
export type StateReader = { readonly id: string; readonly entry: string | null }

/** The things of one sort that are sent to nodes, in the order of changes. */
export type StateTable<Part extends StatePart = StatePart> = {
  readonly name: Part
  /**
   * A page of changes after a position, oldest first; `thereOnly` leaves out what is gone. Times of change are set
   * before the commit, so an older change may become visible after a newer one: readers overlap their reads.
   */
  readonly read: (after: Position, limit: number, thereOnly: boolean) => Promise<readonly StateRow<StateParts[Part]>[]>
  /** The part of a thing that this node may see. */
  forNode?(shape: StateParts[Part], node: StateReader): StateParts[Part]
  /** Things on every page that this node reads. */
  always?(node: string): readonly StateParts[Part][]
}

/** How many bytes were given back, for how many customers' things. */
export type Forgotten = { readonly things: number; readonly bytes: bigint }

/** A product as its nodes see it: the same functions for each product, so that the node API names no product. */
export type NodeSide = {
  readonly kind: NodeKind
  /** Only gateways that serve VPN devices get its tables. */
  readonly isForVpn?: true
  readonly tables: readonly StateTable[]
  /** A text that differs whenever a thing has changed at `sinceAt` or later. Read a few times a second. */
  readonly mark: (sinceAt: number) => Promise<string>
  /** Looks up a credential that a node does not know. Undefined when it is not this product's. */
  readonly find?: (query: FindBody) => Promise<Found | undefined>
  /** The setup of a VPN node. */
  readonly setup?: (node: Node, privateKey: string) => VpnSetup
  /** The parts of a report that are about this product. */
  readonly parts: readonly ReportPart[]
  /** Takes a report of usage, which may come twice, late or out of order. */
  readonly report: (node: string, body: ReportBody) => Promise<Omit<ReportAnswer, 'now'> | undefined>
  /** Those of these things that the books have, in any state. */
  readonly knownAmong?: (items: readonly VanishedItem[]) => Promise<readonly VanishedItem[]>
  /** Takes the results of a node's trials, each whole, so they may repeat. `isLocal`: over the shop's own socket. */
  readonly tried?: (node: string, body: TriedBody, isLocal: boolean) => Promise<void>
  /** Takes the machines that use devices at a gateway, and returns those that may not. */
  readonly places?: (node: string, body: PlacesBody) => Promise<PlacesBody['places']>
  /** A node has called from this address. */
  readonly seen?: (node: string, from: Address) => Promise<void>
  /** Gives customers back what a node has claimed since a moment; a dry run only counts. Idempotent. */
  readonly forgetUsage: (node: string, sinceAt: number, dryRun: boolean) => Promise<Forgotten>
  /** Takes a closed node out of this product before it is removed. Refuses while customers' goods are on it. */
  readonly leave?: (node: string) => Promise<void>
  /** Refuses if something was assigned to the node since `leave`. The node's row is locked. */
  readonly assertLeft?: (tx: Tx, node: string) => Promise<void>
  /** Notifies customers that a node has another endpoint. */
  readonly endpointChanged?: (tx: Tx, node: string) => Promise<void>
  /** Marks all things of a customer as changed. */
  readonly touch: (tx: Tx, customer: CustomerId) => void
}

const isSameTls = (a: HopTls | null, b: HopTls | null): boolean =>
  a?.port === b?.port && a?.name === b?.name && a?.key === b?.key

/** What gateways learn of each other, to use each other's exits: host, port and the public key that signs hops. */
export function createGatewaySide(deps: { db: Database; clock: Clock; usualEndpoint: Endpoint }): NodeSide {
  const { db } = deps

  function toRow({ node, hopKey, changedAt }: store.ChangedGateway): StateRow<NodeGateway> {
    const isThere = node.state === 'open' && node.joinedAt !== null && hopKey !== null
    return {
      id: node.id,
      changedAt,
      shape: {
        id: node.id,
        name: node.name,
        ...(node.endpoint ?? deps.usualEndpoint),
        key: hopKey ?? '',
        tls: node.hopTls,
        entry: node.entry,
        vpn_protocols: node.vpnLinks.protocols?.slice(),
        state: isThere ? 'open' : 'gone',
      },
    }
  }

  return {
    kind: 'gateway',

    tables: [
      {
        name: 'gateways',
        async read(after, limit, thereOnly) {
          return (await store.gatewaysChangedAfter(db, after, limit, thereOnly)).map(toRow)
        },
      },
    ],

    mark: (sinceAt) => store.gatewayMark(db, sinceAt),

    parts: [],

    /** Gateways repeat these fields in every report; a draining process knows them no better. */
    async report(node, { hop_key: key, hop_tls: tls = null, hops: reported = [], draining }) {
      const known = key === undefined || draining ? undefined : await store.findGateway(db, node)
      if (!known || key === undefined) return undefined
      if (known.hopKey !== key || !isSameTls(known.node.hopTls, tls))
        await db.transact((tx) => store.writeHop(tx, node, key, tls, deps.clock()))
      const hops = reported.map(({ id, up, since, reason }) => ({ id, isUp: up, sinceAt: since, reason }))
      if (JSON.stringify(hops) !== JSON.stringify(known.node.hops))
        await db.transact((tx) => store.writeHops(tx, node, hops))
      return undefined
    },

    async assertLeft(tx, node) {
      const count = await store.countEntering(tx, node)
      if (count > 0) throw new Refusal('entry_in_use', { count })
    },

    forgetUsage: async () => ({ things: 0, bytes: 0n }),

    touch: () => {},
  }
}

/** Gives customers back the bytes that a closed node has claimed for them since a moment. */
export const createForgetting =
  (deps: { readonly fleet: BoundCases<Pick<typeof cases, 'loadClosed'>>; readonly nodeSides: readonly NodeSide[] }) =>
  async (name: string, sinceAt: number, dryRun: boolean): Promise<Forgotten & { readonly node: Node }> => {
    const node = await deps.fleet.loadClosed(name)
    let [things, bytes] = [0, 0n]
    for (const side of deps.nodeSides.filter((each) => each.kind === node.kind)) {
      const forgotten = await side.forgetUsage(node.id, sinceAt, dryRun)
      things += forgotten.things
      bytes += forgotten.bytes
    }
    return { node, things, bytes }
  }

/** Removes a closed node on which no customer's goods are. */
export const createRemoval =
  (deps: {
    readonly fleet: BoundCases<Pick<typeof cases, 'loadClosed' | 'remove'>>
    readonly nodeSides: readonly NodeSide[]
  }) =>
  async (name: string): Promise<Node> => {
    const node = await deps.fleet.loadClosed(name)
    const sides = deps.nodeSides.filter((each) => each.kind === node.kind)
    for (const side of sides) await side.leave?.(node.id)
    return deps.fleet.remove(name, async (tx) => {
      for (const side of sides) await side.assertLeft?.(tx, node.id)
    })
  }

/** Gives a gateway an entry, or ends that, and notifies the customers whose goods are on the gateway. */
export const createExitChange =
  (deps: { readonly fleet: BoundCases<Pick<typeof cases, 'setExit'>>; readonly nodeSides: readonly NodeSide[] }) =>
  (name: string, entry: string | null): Promise<Node> =>
    deps.fleet.setExit(name, entry, async (tx, node) => {
      for (const side of deps.nodeSides) if (side.kind === node.kind) await side.endpointChanged?.(tx, node.id)
    })

/** Changes where a node is reached, and notifies the customers whose goods are on it. */
export const createEndpointChange =
  (deps: {
    readonly fleet: BoundCases<Pick<typeof cases, 'setEndpoint' | 'nodes'>>
    readonly nodeSides: readonly NodeSide[]
  }) =>
  async (name: string, endpoint: Endpoint): Promise<Node> => {
    const gateways = await deps.fleet.nodes('gateway')
    return deps.fleet.setEndpoint(name, endpoint, async (tx, node) => {
      const exits = gateways.filter((each) => each.entry === node.id && each.id !== node.id)
      for (const { id } of [node, ...exits])
        for (const side of deps.nodeSides) if (side.kind === node.kind) await side.endpointChanged?.(tx, id)
    })
  }
