import { bind } from '../../core/bind.ts'
import type { NodeId } from '../../core/ids.ts'
import { refuseField } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { Customers } from '../../domains/customers/index.ts'
import type { Fleet, NodeSide, StateTable } from '../../domains/fleet/index.ts'
import type { Node, NodeKind } from '../../domains/fleet/rules.ts'
import type { Pricing } from '../../domains/pricing/index.ts'
import { type StatePage, type StatePart, type StateParts, statePageSchema } from '../../node-protocol/state.ts'
import { createFeed, type Page } from './feed.ts'
import { ChangeWatch } from './watch.ts'

/** The order of the tables in a page and in a cursor: a row comes after the rows that it refers to. */
const order: readonly StatePart[] = ['ranges', 'gateways', 'exits', 'subusers', 'proxies', 'peers', 'devices']

/** Waiting requests of a node: one, and those of connections that are not known to be broken. */
const maxHeld = 4
/** Gateways wait this long for a change, because a gateway can look up an unknown credential. VPN nodes cannot. */
const holdBackMs = 20

/** Marks of the database's history, which show whether it went back in time. */
export type DatabaseHistory = {
  look(mark?: string): Promise<{ readonly verdict: string; readonly newest: string | undefined }>
  /** A mark that is committed after all that is visible at the call. */
  cover(): Promise<string>
}

export type NodeState = ReturnType<typeof createNodeState>

type Given = {
  readonly fleet: Pick<Fleet, 'acceptedPasswordKeys' | 'awaitState' | 'noteStateTaken'>
  readonly nodeSides: readonly NodeSide[]
  readonly customers: Pick<Customers, 'mode'>
  readonly pricing: Pick<Pricing, 'find'>
  readonly grace: () => NonNullable<StatePage['grace']>
  readonly clock: Clock
  readonly timeline: DatabaseHistory & { readonly life: () => number; onChange(listener: () => void): void }
}
type StateDeps = Given & {
  readonly readings: Readonly<Record<NodeKind | 'vpnGateway', ReturnType<typeof openReading>>>
  readonly held: Map<NodeId, Set<AbortController>>
}

/** The desired state of nodes: pages at once, and changes to waiting nodes (long polling). */
export function createNodeState(given: Given) {
  const isUsual = (side: NodeSide): boolean => side.isForVpn !== true
  const readings = {
    gateway: openReading(given, 'gateway', isUsual),
    vpnGateway: openReading(given, 'gateway', () => true),
    vpn: openReading(given, 'vpn', isUsual),
  }
  const deps: StateDeps = { ...given, readings, held: new Map() }
  // A cursor of the life before is refused, so waiting nodes read the whole state now.
  given.timeline.onChange(() => {
    for (const { watch } of Object.values(readings)) watch.poke()
  })
  return bind(deps, { read, announce, stop })
}

/** The state of one kind of node, and the change watch that its nodes share. */
function openReading({ nodeSides, clock, timeline }: Given, kind: NodeKind, isIn: (side: NodeSide) => boolean) {
  const sides = nodeSides.filter((side) => side.kind === kind && isIn(side))
  const unsorted = sides.flatMap((side) => side.tables)
  const tables = unsorted.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
  const mark = async (sinceAt: number) => (await Promise.all(sides.map((side) => side.mark(sinceAt)))).join(' ')
  return {
    tables,
    feed: createFeed({ tables, clock, life: timeline.life }),
    watch: new ChangeWatch({ mark, clock, ...(kind === 'gateway' && { holdBackMs }) }),
  }
}

async function toState(
  deps: StateDeps,
  page: Page,
  mark: string | undefined,
  tables: readonly StateTable[],
  node: Node,
): Promise<StatePage> {
  const mode = await deps.customers.mode()
  const catalogue = await deps.pricing.find()
  /** Each row as this very node may know it. */
  const rowsOf = (table: StateTable, given: readonly unknown[] = []): readonly unknown[] =>
    table.forNode ? given.map((shape) => table.forNode?.(shape as StateParts[StatePart], node)) : given
  return statePageSchema.parse({
    cursor: page.cursor,
    more: page.more,
    now: deps.clock(),
    mark,
    mode: mode ?? 'production',
    gateways: [],
    speed_mbit: {
      proxies: catalogue?.dedicated.speedMegabits ?? null,
      subusers: catalogue?.premium.speedMegabits ?? null,
    },
    ...(tables.some(({ name }) => name === 'devices') && { grace: deps.grace() }),
    ...(node.kind === 'gateway' && {
      password_keys: (await deps.fleet.acceptedPasswordKeys()).map((key) => key.toHex()),
    }),
    ranges: [],
    proxies: [],
    subusers: [],
    exits: [],
    peers: [],
    ...Object.fromEntries(
      tables.map((table, index) => [
        table.name,
        [...rowsOf(table, page.given[index]), ...(table.always?.(node.id) ?? [])],
      ]),
    ),
  })
}

/** Adds a waiting request of a node; over the limit, the oldest one ends. The signal ends this one. */
function hold(deps: StateDeps, node: NodeId, signal: AbortSignal): { signal: AbortSignal; release: () => void } {
  const mine = new AbortController()
  const requests = deps.held.get(node) ?? new Set()
  deps.held.set(node, requests.add(mine))
  if (requests.size > maxHeld) [...requests][0]?.abort()
  return {
    signal: AbortSignal.any([signal, mine.signal]),
    release() {
      requests.delete(mine)
      if (requests.size === 0) deps.held.delete(node)
    },
  }
}

/**
 * A gateway whose protocols for VPN devices the operator has switched off gets no device, whatever it asks for. When
 * one is on again, its cursor is one of other tables, so it reads the whole state.
 */
const readingOf = ({ readings }: StateDeps, { kind, vpnLinks }: Node, { isForVpn }: StateRequest) =>
  readings[kind === 'gateway' && isForVpn === true && vpnLinks.protocols?.length !== 0 ? 'vpnGateway' : kind]

/**
 * What cursors of a node begin with. An entry reads secrets of VPN devices that other gateways do not get: a gateway
 * that becomes an entry, or is none any more, reads the whole state again.
 */
const beginningFor = ({ id, kind, entry }: Node, { isForVpn }: StateRequest): string =>
  kind === 'gateway' && isForVpn === true && entry === id ? 'entry ' : ''

function cursorOfFeed(cursor: string | undefined, beginning: string): string | undefined {
  if (cursor === undefined) return undefined
  // The feed refuses a cursor with a beginning that is not expected.
  if (!cursor.startsWith(beginning)) throw refuseField('cursor', 'node_cursor')
  return cursor.slice(beginning.length)
}

type StateRequest = {
  readonly cursor?: string | undefined
  readonly waitMs: number
  /** The mark of the last page that the node has applied. */
  readonly mark?: string | undefined
  /** A gateway that serves VPN devices. */
  readonly isForVpn?: boolean | undefined
}

/**
 * Compares the node's mark with the database. A node whose mark is too old to be compared reads the whole state, and
 * nothing of it is sold before: its part of the history may be lost. A node with a cursor at the end of this life's
 * state has applied the whole state and dropped everything else.
 */
async function compareMarks(deps: StateDeps, node: Node, request: StateRequest): Promise<string | undefined> {
  const { cursor, mark } = request
  const { verdict, newest } = await deps.timeline.look(mark)
  if (verdict === 'expired' && cursor !== undefined) {
    await deps.fleet.awaitState(node.id)
    throw refuseField('cursor', 'node_cursor')
  }
  if (node.awaitsState && readingOf(deps, node, request).feed.stageOf(cursor) === 'end')
    await deps.fleet.noteStateTaken(node.id, deps.timeline.life())
  return newest
}

/** The page after a cursor. It waits for a change, and then authenticates the node again with `stillMay`. */
async function read(
  deps: StateDeps,
  node: Node,
  asked: StateRequest,
  signal: AbortSignal,
  stillMay: () => Promise<void>,
): Promise<StatePage> {
  const { tables, feed, watch } = readingOf(deps, node, asked)
  const beginning = beginningFor(node, asked)
  const request = { ...asked, cursor: cursorOfFeed(asked.cursor, beginning) }
  const untilAt = performance.now() + request.waitMs
  const held = hold(deps, node.id, signal)
  try {
    const newest = await compareMarks(deps, node, request)
    for (let hasWaited = false; ; hasWaited = true) {
      if (request.waitMs > 0) await watch.ready()
      const wakeUps = watch.wakeUps()
      const startedAt = performance.now()
      const page = await feed.read(request.cursor)
      watch.spent(performance.now() - startedAt)
      if (hasWaited) await stillMay()
      const leftMs = untilAt - performance.now()
      if (page.count > 0 || page.more || leftMs <= 0 || held.signal.aborted) {
        // Committed after every row of the page: a database without these rows has no such mark.
        const mark = page.count > 0 ? await deps.timeline.cover() : newest
        return await toState(deps, { ...page, cursor: beginning + page.cursor }, mark, tables, node)
      }
      await watch.wait(wakeUps, leftMs, held.signal)
    }
  } finally {
    held.release()
  }
}

/** This process has changed something: waiting nodes read now and not after the next poll of the database. */
function announce({ readings }: StateDeps): void {
  for (const { watch } of Object.values(readings)) watch.poke()
}

function stop(deps: StateDeps): void {
  for (const { watch } of Object.values(deps.readings)) watch.stop()
}
