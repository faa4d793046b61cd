import type { Reader } from '../../db/transaction.ts'

/**
 * Keys and addresses that more than one device holds at once. The constraints forbid it; this does not take their word.
 */
export async function listDuplicates(reader: Reader): Promise<{ what: string; value: string; held: number }[]> {
  const rows = await reader.all<{ what: string; value: string; held: bigint }>(
    `SELECT 'public key' AS what, public_key AS value, COUNT(*) AS held FROM vpn_peers
       WHERE removed_at IS NULL GROUP BY public_key HAVING COUNT(*) > 1
     UNION ALL
     SELECT 'IPv4 address', CAST(ipv4 AS TEXT), COUNT(*) FROM vpn_peers
       WHERE removed_at IS NULL GROUP BY ipv4 HAVING COUNT(*) > 1
     UNION ALL
     SELECT 'IPv6 address', ipv6, COUNT(*) FROM vpn_peers
       WHERE removed_at IS NULL GROUP BY ipv6 HAVING COUNT(*) > 1`,
  )
  return rows.map((row) => ({ ...row, held: Number(row.held) }))
}

/** Devices that hold an address which the list of addresses does not give to them. */
export async function listWithoutAddress(reader: Reader): Promise<string[]> {
  const rows = await reader.all<{ id: string }>(
    `SELECT p.id FROM vpn_peers p LEFT JOIN vpn_addresses a ON a.ipv4 = p.ipv4 AND a.peer_id = p.id
     WHERE p.removed_at IS NULL AND a.ipv4 IS NULL ORDER BY p.id`,
  )
  return rows.map((row) => row.id)
}

/** Addresses that are given to a device which does not hold them. */
export async function listStrayAddresses(reader: Reader): Promise<bigint[]> {
  const rows = await reader.all<{ ipv4: bigint }>(
    `SELECT a.ipv4 FROM vpn_addresses a
     LEFT JOIN vpn_peers p ON p.id = a.peer_id AND p.removed_at IS NULL AND p.ipv4 = a.ipv4
     WHERE a.peer_id IS NOT NULL AND p.id IS NULL ORDER BY a.ipv4`,
  )
  return rows.map((row) => row.ipv4)
}

/** Devices of a subscription that does not exist: no page of subscriptions would come across them. */
export async function countOrphans(reader: Reader): Promise<number> {
  const row = await reader.first<{ n: bigint }>(
    `SELECT COUNT(*) AS n FROM vpn_peers p LEFT JOIN vpn_subscriptions s ON s.uuid = p.subscription_uuid
     WHERE s.uuid IS NULL`,
  )
  return Number(row?.n ?? 0n)
}
