import { firstId, operatorsOwner, readId } from '../../../core/ids.ts'
import { type FeedType, feedTypes } from '../../../domains/events/rules.ts'
import type { AdminDeps } from '../bind.ts'
import { type Activity, type ActivityKind, activityKinds, kindOfType, nodeActions } from './shapes-kinds.ts'

export type ActivityPosition = Pick<Activity, 'at' | 'rank' | 'key'>

/** Below this time, and at this time below this key. */
type Below = { readonly at: number; readonly key: string }
type Source = {
  readonly kinds: readonly ActivityKind[]
  readonly read: (below: Below, limit: number, kinds: readonly ActivityKind[]) => Promise<Found[]>
}

type FeedDeps = Pick<AdminDeps, 'orders' | 'events' | 'customers' | 'operators' | 'fleet'>

/** Later than every time. */
const never = 8_640_000_000_000_000

type Found = Omit<Activity, 'rank'>
const found = (of: Pick<Found, 'at' | 'key' | 'kind' | 'type'> & Partial<Found>): Found => ({
  customer: null,
  order: null,
  price: null,
  node: null,
  data: {},
  ...of,
})

/** Numbers as texts of one length, which sort as numbers do. */
const padded = (number: number): string => String(number).padStart(16, '0')

/** The first id from which on ids are not below the position. */
const idBelow = (of: 'order' | 'customer', { at, key }: Below): string =>
  key !== '' ? key : at >= never ? `${firstId(of, 0).slice(0, 4)}~` : firstId(of, at)

const sourcesOf = (deps: FeedDeps): readonly Source[] => [...businessSources(deps), ...nodeSources(deps)]

const businessSources = ({ orders, events, customers }: FeedDeps): readonly Source[] => [
  {
    kinds: ['order'],
    async read(below, limit) {
      const rows = await orders.newest(idBelow('order', below), limit)
      return rows.map(({ id, customer, createdAt, product, action, price }) => {
        const data = { product, action }
        return found({ at: createdAt, key: id, kind: 'order', type: 'order.created', customer, order: id, price, data })
      })
    },
  },
  {
    kinds: ['payment', 'refund', 'alert'],
    async read({ at, key }, limit, kinds) {
      const types: FeedType[] = feedTypes.filter((each) => kinds.includes(kindOfType[each]))
      const [customer = '', seq = '0'] = key.split(' ')
      const rows = await events.feed(types, { at, customer, seq: Number(seq) }, limit)
      return rows.flatMap(({ customer: owner, seq: number, order, data, ...each }) => {
        const type = types.find((one) => one === each.type)
        if (type === undefined) return []
        const whose = owner === operatorsOwner ? null : owner
        const place = { at: each.at, key: `${owner} ${padded(number)}` }
        return found({ ...place, kind: kindOfType[type], type, customer: whose, order, data })
      })
    },
  },
  {
    kinds: ['registration'],
    async read(below, limit) {
      const rows = await customers.listNewest(idBelow('customer', below), limit)
      return rows.map(({ id, createdAt }) =>
        found({ at: createdAt, key: id, kind: 'registration', type: 'customer.created', customer: id }),
      )
    },
  },
]

const nodeSources = ({ operators, fleet }: FeedDeps): readonly Source[] => [
  {
    kinds: ['node'],
    async read({ at, key }, limit) {
      const rows = await operators.logOf(nodeActions, { at, seq: Number(key) }, limit)
      return rows.map((each) => {
        const request = readNodeRequest(each.request)
        return found({ at: each.at, key: padded(each.seq), kind: 'node', type: each.action, ...request })
      })
    },
  },
  {
    kinds: ['node'],
    async read({ at, key }, limit) {
      const nodes = [...(await fleet.nodes('gateway')), ...(await fleet.nodes('vpn'))]
      const joined = nodes.flatMap(({ id, name, kind, joinedAt }) =>
        joinedAt !== null && (joinedAt < at || (joinedAt === at && id < key)) ? [{ id, name, kind, joinedAt }] : [],
      )
      return joined
        .toSorted((a, b) => b.joinedAt - a.joinedAt || (a.id < b.id ? 1 : -1))
        .slice(0, limit)
        .map(({ id, name, kind, joinedAt }) =>
          found({ at: joinedAt, key: id, kind: 'node', type: 'node.joined', node: name, data: { kind } }),
        )
    },
  },
]

/** The node of an operator's action, and whether the action was undone. A request that was shortened has neither. */
function readNodeRequest(request: string): Pick<Activity, 'node' | 'data'> {
  const value: unknown = JSON.parse(request)
  const fields = new Map<string, unknown>(Object.entries(value ?? {}))
  const name = fields.get('name')
  const newName = fields.get('new_name')
  return {
    node: typeof name === 'string' ? name : null,
    data: {
      ...(fields.get('undo') === true && { undo: true }),
      ...(typeof newName === 'string' && { new_name: newName }),
    },
  }
}

const isBefore = (a: ActivityPosition, b: ActivityPosition): boolean =>
  a.at !== b.at ? a.at > b.at : a.rank !== b.rank ? a.rank > b.rank : a.key > b.key

/** What a source has to read so that the feed continues after a position. */
function belowIn(rank: number, after: ActivityPosition | undefined): Below {
  if (!after) return { at: never, key: '' }
  if (rank === after.rank) return after
  return { at: rank > after.rank ? after.at : after.at + 1, key: '' }
}

export type ActivityFeed = ReturnType<typeof createActivityFeed>

/**
 * Purchases, payments, refunds, registrations, changes of nodes and alerts, newest first. They are read where they are
 * kept and merged, so that none of them writes another row for the feed.
 */
export function createActivityFeed(deps: FeedDeps) {
  const sources = sourcesOf(deps)
  let newest = ''
  let changes = 0

  async function list(kinds: readonly ActivityKind[], after: ActivityPosition | undefined, limit: number) {
    const read = sources.map(async (source, rank): Promise<Activity[]> => {
      if (!source.kinds.some((kind) => kinds.includes(kind))) return []
      return (await source.read(belowIn(rank, after), limit, kinds)).map((each) => ({ ...each, rank }))
    })
    const all = (await Promise.all(read)).flat()
    return all.toSorted((a, b) => (isBefore(a, b) ? -1 : 1)).slice(0, limit)
  }

  return {
    list,
    /** A number that has grown if the feed has something new since the last call. */
    async changes(): Promise<number> {
      const heads = await Promise.all(activityKinds.map((kind) => list([kind], undefined, 1)))
      const text = heads.map(([head]) => (head ? positionText(head) : '')).join()
      if (text !== newest) changes += 1
      newest = text
      return changes
    },
  }
}

export const positionText = ({ at, rank, key }: ActivityPosition): string => `${at} ${rank} ${key}`

export function readActivityPosition(text: string): ActivityPosition | undefined {
  const [, at, rank, key] = /^(\d{1,16}) (\d) ([\w ]{1,60})$/.exec(text) ?? []
  if (at === undefined || rank === undefined || key === undefined) return undefined
  const isKnown = rank !== '0' || readId('order', key) !== undefined
  return isKnown ? { at: Number(at), rank: Number(rank), key } : undefined
}
