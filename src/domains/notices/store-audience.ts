import type { CustomerId } from '../../core/ids.ts'
import { idColumn, valuesOf } from '../../db/columns.ts'
import { allOf } from '../../db/rows.ts'
import type { Reader } from '../../db/transaction.ts'
import type { Audience } from './rules.ts'

const dayMs = 86_400_000
/** After every date. */
const noEnd = Number.MAX_SAFE_INTEGER

const ends = (column: string): string => `${column} > $2 AND ${column} <= $3`

/** Customers with a running service of each product that ends in time, and of a node. */
const holders: Readonly<Record<'dedicated' | 'premium' | 'vpn', string>> = {
  dedicated: `EXISTS (SELECT 1 FROM proxies WHERE proxies.customer_id = customers.id AND proxies.state = 'held'
    AND ${ends('proxies.expires_at')}
    AND ($4 = '' OR EXISTS (SELECT 1 FROM stock WHERE stock.id = proxies.slot_id AND stock.serving_node = $4)))`,
  premium: `($4 = '' AND EXISTS (SELECT 1 FROM subusers
    JOIN traffic_lots ON traffic_lots.subuser_id = subusers.id
    WHERE subusers.customer_id = customers.id AND traffic_lots.rest > 0 AND ${ends('traffic_lots.expires_at')}))`,
  vpn: `EXISTS (SELECT 1 FROM vpn_subscriptions WHERE vpn_subscriptions.customer_id = customers.id
    AND vpn_subscriptions.deleted_at IS NULL AND ${ends('vpn_subscriptions.expires_at')}
    AND ($4 = '' OR EXISTS (SELECT 1 FROM vpn_peers JOIN nodes ON nodes.id = $4 AND nodes.kind = 'vpn'
      WHERE vpn_peers.subscription_uuid = vpn_subscriptions.uuid AND vpn_peers.removed_at IS NULL
        AND (vpn_peers.node_id = nodes.id
          OR (vpn_peers.node_id IS NULL AND COALESCE(vpn_peers.location, nodes.location) = nodes.location)))))`,
}

function conditionOf({ product, endsWithinDays, node }: Audience): string {
  if (product !== null) return holders[product]
  return endsWithinDays === null && node === null ? '($2 <= $3 AND $4 = $4)' : Object.values(holders).join(' OR ')
}

const valuesOfAudience = ({ endsWithinDays, node }: Audience, nowMs: number) =>
  [nowMs, endsWithinDays === null ? noEnd : nowMs + endsWithinDays * dayMs, node ?? ''] as const

const inAudience = (audience: Audience): string =>
  `customers.id > $1 AND customers.blocked_at IS NULL AND (${conditionOf(audience)})`

/** The next customers of an audience after an id, in the order of their ids. Blocked and erased ones are left out. */
export const listAudience = (
  reader: Reader,
  audience: Audience,
  of: { readonly after: string; readonly nowMs: number; readonly limit: number },
): Promise<CustomerId[]> =>
  valuesOf(idColumn<CustomerId>('id')).all(
    reader,
    `SELECT customers.id FROM customers WHERE ${inAudience(audience)} ORDER BY customers.id LIMIT $5`,
    [of.after, ...valuesOfAudience(audience, of.nowMs), of.limit],
  )

/** How many customers an audience has, and how many of them a message would not reach. */
export async function countCustomers(reader: Reader, audience: Audience, nowMs: number) {
  const row = await reader.first<{ customers: bigint; no_address: bigint; unsubscribed: bigint }>(
    `SELECT COUNT(*) AS customers,
       COUNT(CASE WHEN identities.email IS NULL THEN 1 END) AS no_address,
       COUNT(CASE WHEN identities.email IS NOT NULL AND notice_choices.kinds NOT LIKE '%message%' THEN 1 END)
         AS unsubscribed
     FROM customers LEFT JOIN identities ON identities.owner_id = customers.id
     LEFT JOIN notice_choices ON notice_choices.customer_id = customers.id
     WHERE ${inAudience(audience)}`,
    ['', ...valuesOfAudience(audience, nowMs)],
  )
  return {
    customers: Number(row?.customers ?? 0n),
    noAddress: Number(row?.no_address ?? 0n),
    unsubscribed: Number(row?.unsubscribed ?? 0n),
  }
}

export async function listBlocked(reader: Reader, among: readonly CustomerId[]): Promise<Set<CustomerId>> {
  const sql = (ids: string) => `SELECT id FROM customers WHERE blocked_at IS NOT NULL AND id IN (${ids})`
  return new Set((await allOf<{ id: CustomerId }>(reader, among, sql)).map(({ id }) => id))
}
