import { type Bytes, bytes } from '../../core/bytes.ts'
import type { CustomerId, PeerId } from '../../core/ids.ts'
import { numberOrNull } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'

/** A device with what of its subscription decides whether it may carry. */
export type PeerState = {
  readonly id: PeerId
  readonly customer: CustomerId
  readonly publicKey: string
  readonly ipv4: bigint
  readonly ipv6: string
  readonly removedAt: number | null
  readonly changedAt: number
  readonly expiresAt: number
  readonly disabledAt: number | null
  readonly deletedAt: number | null
  readonly speedMegabits: number | null
  readonly trafficLimit: Bytes | null
  readonly received: Bytes
  readonly sent: Bytes
}

type Row = {
  id: string
  customer_id: string
  public_key: string
  ipv4: bigint
  ipv6: string
  removed_at: bigint | null
  changed_at: bigint
  expires_at: bigint
  disabled_at: bigint | null
  deleted_at: bigint | null
  speed_mbit: bigint | null
  traffic_limit: bigint | null
  received: bigint
  sent: bigint
}

const toState = (row: Row): PeerState => ({
  id: row.id as PeerId,
  customer: row.customer_id as CustomerId,
  publicKey: row.public_key,
  ipv4: row.ipv4,
  ipv6: row.ipv6,
  removedAt: numberOrNull(row.removed_at),
  changedAt: Number(row.changed_at),
  expiresAt: Number(row.expires_at),
  disabledAt: numberOrNull(row.disabled_at),
  deletedAt: numberOrNull(row.deleted_at),
  speedMegabits: numberOrNull(row.speed_mbit),
  trafficLimit: row.traffic_limit === null ? null : bytes(row.traffic_limit),
  received: bytes(row.received),
  sent: bytes(row.sent),
})

const columns = `p.id, s.customer_id, p.public_key, p.ipv4, p.ipv6, p.removed_at, p.changed_at, s.expires_at,
  s.disabled_at, s.deleted_at, s.speed_mbit, s.traffic_limit, s.received, s.sent`

/** Every device that changed after a position, the earliest change first; only held ones, or removed ones too. */
export async function pageChanged(
  reader: Reader,
  after: { changedAt: number; id: string },
  limit: number,
  heldOnly: boolean,
): Promise<PeerState[]> {
  const rows = await reader.all<Row>(
    `SELECT ${columns} FROM vpn_peers p JOIN vpn_subscriptions s ON s.uuid = p.subscription_uuid
     WHERE (p.changed_at, p.id) > ($1, $2) ${heldOnly ? 'AND p.removed_at IS NULL' : ''}
     ORDER BY p.changed_at, p.id LIMIT $3`,
    [after.changedAt, after.id, limit],
  )
  return rows.map(toState)
}

/** Differs from what it was whenever a device changed at `sinceAt` or later. */
export async function changeMark(reader: Reader, sinceAt: number): Promise<string> {
  const row = await reader.first<{ n: bigint; sum: bigint }>(
    `SELECT COUNT(*) AS n, CAST(COALESCE(SUM(changed_at - $1), 0) AS BIGINT) AS sum
     FROM vpn_peers WHERE changed_at >= $1`,
    [sinceAt],
  )
  return `${row?.n} ${row?.sum}`
}

/** Makes nodes look again at all devices of a customer. */
export function touchDevices(tx: Tx, customer: CustomerId, nowMs: number): void {
  tx.send(
    `UPDATE vpn_peers SET changed_at = $2 WHERE removed_at IS NULL
       AND subscription_uuid IN (SELECT uuid FROM vpn_subscriptions WHERE customer_id = $1)`,
    [customer, nowMs],
  )
}
