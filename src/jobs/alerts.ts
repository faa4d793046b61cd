import { runningSince, type Stalls } from '../core/stall-monitor.ts'
import { type Clock, toIso } from '../core/time.ts'
import type { Alerts } from '../domains/alerts/index.ts'
import { type Condition, findLowStock } from '../domains/alerts/rules.ts'
import type { Fleet } from '../domains/fleet/index.ts'
import type { PaymentOperator } from '../domains/payments/index.ts'
import { lookAtRanges, type Stock, type StockOperator } from '../domains/stock/index.ts'
import type { Job } from './jobs.ts'

const minuteMs = 60_000
/** A silence that is no restart. */
const lostAfterMs = minuteMs
/** ACME renews a certificate 30 days before its end. */
const endsWithinMs = 7 * 24 * 60 * minuteMs
const maxNotices = 100

type AlertJobDeps = {
  readonly alerts: Pick<Alerts, 'settle'>
  readonly fleet: Pick<Fleet, 'nodes'>
  readonly paymentOperator: Pick<PaymentOperator, 'unmatched'>
  readonly stock: Pick<Stock, 'ranges'>
  readonly stockOperator: Pick<StockOperator, 'counts'>
  readonly clock: Clock
  readonly stalls: Stalls
  /** When the certificate of this shop ends; undefined without one. */
  readonly certificateEndsAt: () => number | undefined
}

/** Looks for what needs an operator. The stock is counted whole, so it is looked at seldom. */
export const alertJobs = (deps: AlertJobDeps): readonly Job[] => [
  {
    name: 'look for alerts',
    everyMs: 30_000,
    work: async () =>
      deps.alerts.settle(
        ['node.lost', 'payment.unmatched', 'certificate.ending'],
        [...(await findLostNodes(deps)), ...(await findUnmatched(deps)), ...findEndingCertificate(deps)],
      ),
  },
  {
    name: 'look for low stock',
    everyMs: 5 * minuteMs,
    work: async () =>
      deps.alerts.settle(
        ['stock.low', 'range.lost'],
        [...findLowStock(await deps.stockOperator.counts()), ...(await findLostRanges(deps))],
      ),
  },
]

async function findLostNodes(deps: AlertJobDeps): Promise<Condition[]> {
  const since = runningSince(deps)
  const nodes = [...(await deps.fleet.nodes('gateway')), ...(await deps.fleet.nodes('vpn'))]
  return nodes.flatMap(({ id, name, kind, state, joinedAt, lastSeenAt }) => {
    if (state !== 'open' || joinedAt === null || lastSeenAt === null || since(lastSeenAt) <= lostAfterMs) return []
    return [{ type: 'node.lost' as const, subject: id, data: { name, kind, last_seen_at: toIso(lastSeenAt) } }]
  })
}

const findLostRanges = async (deps: AlertJobDeps): Promise<Condition[]> =>
  (await lookAtRanges(deps, runningSince(deps)))
    .filter((each) => each.isLost)
    .map(({ range: { prefix }, problems }) => ({
      type: 'range.lost',
      subject: prefix,
      data: { range: prefix, problem: problems[0] ?? '' },
    }))

const findUnmatched = async ({ paymentOperator }: AlertJobDeps): Promise<Condition[]> =>
  (await paymentOperator.unmatched(false, maxNotices)).map(({ id, provider, reason }) => ({
    type: 'payment.unmatched',
    subject: id,
    data: { notice_id: id, provider, reason },
  }))

function findEndingCertificate({ clock, certificateEndsAt }: AlertJobDeps): Condition[] {
  const endsAt = certificateEndsAt()
  if (endsAt === undefined || endsAt - clock() > endsWithinMs) return []
  return [{ type: 'certificate.ending', subject: 'shop', data: { ends_at: toIso(endsAt) } }]
}
