import type { CustomerId, OrderId } from '../../../core/ids.ts'
import type { Kopecks } from '../../../core/money.ts'
import type { EventData, FeedType } from '../../../domains/events/rules.ts'

export const activityKinds = ['order', 'payment', 'refund', 'registration', 'node', 'alert'] as const
export type ActivityKind = (typeof activityKinds)[number]

/** Something that happened in the shop. `rank` and `key` order what happened at one instant. */
export type Activity = {
  readonly at: number
  readonly rank: number
  readonly key: string
  readonly kind: ActivityKind
  readonly type: string
  readonly customer: CustomerId | null
  readonly order: OrderId | null
  readonly price: Kopecks | null
  readonly node: string | null
  readonly data: EventData
}

export const kindOfType: Readonly<Record<FeedType, 'payment' | 'refund' | 'alert'>> = {
  'order.refunded': 'refund',
  'payment.paid': 'payment',
  'payment.refunded': 'refund',
  'stock.low': 'alert',
  'node.lost': 'alert',
  'range.lost': 'alert',
  'payment.unmatched': 'alert',
  'verify.finding': 'alert',
  'certificate.ending': 'alert',
}

/** Operators' actions that change a node. */
export const nodeActions = [
  'addNode',
  'renameNode',
  'revokeNode',
  'closeNode',
  'openNode',
  'removeNode',
  'drainNode',
  'endpointNode',
  'linkNode',
  'entryNode',
  'exitNode',
] as const
