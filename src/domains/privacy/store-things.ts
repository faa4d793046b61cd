import type { CustomerId } from '../../core/ids.ts'
import type { Tx } from '../../db/transaction.ts'
import { withoutNames } from './rules.ts'

/** Blanks a bounded number of a customer's rows, and tells how many: fewer than that are the last. */
type Piece = (tx: Tx, customer: CustomerId, limit: number, nowMs: number) => Promise<number>
/** The same of rows that do not tell by themselves whether it was done: after one of them. Tells the last. */
type Walk = (tx: Tx, customer: CustomerId, after: string, limit: number) => Promise<string | undefined>

/** What he called his things, where he came from, and what would go on by itself. */
export const pieces: readonly Piece[] = [
  (tx, customer, limit) =>
    tx.run(
      `UPDATE proxies SET comment = '', sources = '', renew_period = NULL, renew_token_id = NULL
       WHERE id IN (SELECT id FROM proxies WHERE customer_id = $1
         AND (comment <> '' OR sources <> '' OR renew_period IS NOT NULL) LIMIT $2)`,
      [customer, limit],
    ),
  (tx, customer, limit) =>
    tx.run(
      `UPDATE vpn_subscriptions SET auto_renew_months = NULL, renew_token_id = NULL
       WHERE uuid IN (SELECT uuid FROM vpn_subscriptions
         WHERE customer_id = $1 AND auto_renew_months IS NOT NULL LIMIT $2)`,
      [customer, limit],
    ),
  (tx, customer, limit, nowMs) =>
    tx.run(
      `UPDATE vpn_peers SET name = 'erased', last_handshake_at = NULL, changed_at = $3
       WHERE id IN (SELECT id FROM vpn_peers
         WHERE subscription_uuid IN (SELECT uuid FROM vpn_subscriptions WHERE customer_id = $1)
           AND (name <> 'erased' OR last_handshake_at IS NOT NULL) LIMIT $2)`,
      [customer, limit, nowMs],
    ),
  (tx, customer, limit) =>
    tx.run(
      `DELETE FROM whitelist_entries WHERE (subuser_id, prefix) IN
         (SELECT subuser_id, prefix FROM whitelist_entries
          WHERE subuser_id IN (SELECT id FROM subusers WHERE customer_id = $1) LIMIT $2)`,
      [customer, limit],
    ),
  (tx, customer, limit, nowMs) =>
    tx.run(
      `UPDATE subusers SET name = 'erased', keep_hosts = 0, changed_at = $3
       WHERE id IN (SELECT id FROM subusers
         WHERE customer_id = $1 AND (name <> 'erased' OR keep_hosts = 1) LIMIT $2)`,
      [customer, limit, nowMs],
    ),
  (tx, customer, limit) =>
    tx.run(
      `UPDATE payments SET return_url = NULL, pay_url = NULL, qr = NULL, key = NULL, request = $3
       WHERE id IN (SELECT id FROM payments WHERE customer_id = $1 AND (return_url IS NOT NULL OR pay_url IS NOT NULL
         OR qr IS NOT NULL OR key IS NOT NULL OR request <> $3) LIMIT $2)`,
      [customer, limit, new Uint8Array(0)],
    ),
]

/** A login of his own choosing is given up for one that says nothing, in the ports that stand for it too. */
async function blankLogins(tx: Tx, customer: CustomerId, after: string, limit: number): Promise<string | undefined> {
  const chosen = await tx.all<{ id: string; login: string }>(
    `SELECT id, login FROM subusers WHERE customer_id = $1 AND id > $2 AND login <> 'u' || SUBSTR(id, 5)
     ORDER BY id LIMIT $3`,
    [customer, after, limit],
  )
  for (const { id, login } of chosen) {
    const plain = await freeLogin(tx, `u${id.slice(4)}`, id)
    await tx.run('UPDATE subusers SET login = $2 WHERE id = $1', [id, plain])
    await tx.run(
      'UPDATE gateway_ports SET parameters = $2 || SUBSTR(parameters, CAST($3 AS INTEGER)) WHERE subuser_id = $1',
      [id, plain, login.length + 1],
    )
  }
  return chosen.at(-1)?.id
}

/** Somebody may have chosen just that one for another of his. */
async function freeLogin(tx: Tx, plain: string, id: string): Promise<string> {
  const taken = await tx.first('SELECT id FROM subusers WHERE login = $1 AND id <> $2', [plain, id])
  return taken ? freeLogin(tx, `${plain}x`, id) : plain
}

/** Orders and purchases that wait say what was asked for; a device's name and key among it go. */
const blankWishes =
  (table: 'orders' | 'payments', column: 'wish' | 'purchase_wish'): Walk =>
  async (tx, customer, after, limit) => {
    const rows = await tx.all<{ id: string; wish: string }>(
      `SELECT id, ${column} AS wish FROM ${table} WHERE customer_id = $1 AND id > $2 AND
         (${column} LIKE '%"name"%' OR ${column} LIKE '%"public_key"%' OR ${column} LIKE '%"publicKey"%'
          OR ${column} LIKE '%"comment"%')
       ORDER BY id LIMIT $3`,
      [customer, after, limit],
    )
    for (const { id, wish } of rows) {
      await tx.run(`UPDATE ${table} SET ${column} = $2 WHERE id = $1`, [id, withoutNames(wish)])
    }
    return rows.at(-1)?.id
  }

export const walks: readonly Walk[] = [
  blankLogins,
  blankWishes('orders', 'wish'),
  blankWishes('payments', 'purchase_wish'),
]
