import { columnsOf, idColumn, int, textColumn } from '../../../db/columns.ts'
import { list } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import type { SubscriptionId } from '../rules.ts'
import type { Place } from './rules.ts'

type StoredPlace = Place & { readonly subscription: SubscriptionId }

const columns = columnsOf<StoredPlace>({
  device: textColumn('device_id'),
  place: textColumn('place'),
  subscription: idColumn('subscription_uuid'),
  beganAt: int('began_at'),
  activeAt: int('active_at'),
})

/** The machines of subscriptions, without those of removed devices. */
export async function listPlaces(reader: Reader, uuids: readonly SubscriptionId[]): Promise<StoredPlace[]> {
  if (uuids.length === 0) return []
  return columns.all(
    reader,
    `SELECT vpn_places.* FROM vpn_places JOIN vpn_peers ON vpn_peers.id = vpn_places.device_id
     WHERE vpn_places.subscription_uuid IN (${list(uuids.length)}) AND vpn_peers.removed_at IS NULL
     ORDER BY vpn_places.device_id, vpn_places.place`,
    uuids,
  )
}

/** A machine that is known keeps the time when it began; its activity only moves forward. */
export const putPlace = (tx: Tx, of: StoredPlace): void =>
  tx.send(
    `INSERT INTO vpn_places (${columns.names}) VALUES (${list(5)}) ON CONFLICT (device_id, place) DO UPDATE SET
       active_at = CASE WHEN excluded.active_at > vpn_places.active_at
         THEN excluded.active_at ELSE vpn_places.active_at END`,
    columns.values(of),
  )

export const deletePlace = (tx: Tx, { device, place }: Place): void =>
  tx.send('DELETE FROM vpn_places WHERE device_id = $1 AND place = $2', [device, place])

export const deleteSilent = (tx: Tx, beforeAt: number, limit: number): Promise<number> =>
  tx.run(
    `DELETE FROM vpn_places WHERE (device_id, place) IN
       (SELECT device_id, place FROM vpn_places WHERE active_at < $1 ORDER BY active_at LIMIT $2)`,
    [beforeAt, limit],
  )
