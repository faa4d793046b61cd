import { describe, expect, test } from 'bun:test'
import { engines, makePlace, openTestDatabase } from '../../test/harness/database.ts'
import { sha256 } from '../adapters/sha256.ts'
import { createEventsVerifier } from '../domains/events/index.ts'
import { readMigrations } from '../main/shop/database.ts'
import { checksumIn } from './checksum.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'
import { createHistoryVerifier } from './row-history.ts'
import type { Database } from './transaction.ts'

/** Rows as a shop has them that never heard of this migration. */
const before = [
  `INSERT INTO nodes (id, kind, name, location, state, boot, relayed, drained_at, created_at)
   VALUES ('node_1', 'gateway', 'gate-1', '', 'open', '2026', 7, 5, 1)`,
  `INSERT INTO stock_ranges (id, prefix, homes, state, created_at, changed_at) VALUES (1, '8.8.8.0/24', '', 'in', 1, 1)`,
  `INSERT INTO stock_trials (node_id, range_id, served, problems, seen_as, changed_at)
   VALUES ('node_1', 1, '[]', '["it''s away"]', NULL, 3)`,
  `INSERT INTO proxy_outages (proxy_id, from_at, cause) VALUES (4, 10, 'outage')`,
  `INSERT INTO usage_counts (node, boot, subject, received, sent, updated_at, believed_received, believed_sent)
   VALUES ('node_1', '2026', 'proxy:4', 9007199254740991, 5, 1768500000000, 11, 5)`,
  `INSERT INTO usage_budgets (node, purpose, rest, at, refused) VALUES ('node_1', 'carried', 12, 1768500000000, 0),
     ('node_1', 'hosts', 12, 1768500000000, 0)`,
  `INSERT INTO traffic_hours (subuser_id, pool, hour, received, sent) VALUES ('sub_1', 'residential', 3600000, 8, 9)`,
  `INSERT INTO traffic_hosts (subuser_id, pool, hour, host, received, sent)
   VALUES ('sub_1', 'residential', 3600000, 'example.com', 8, 9)`,
  `INSERT INTO usage_leases (node, boot, subject, turn, granted, returned, lapsed, settled, late, claimable,
     quarantined, counted, aside, changed_at)
   VALUES ('node_1', '2026', 'premium:sub_1:residential', 2, 100, 10, 20, 30, 3, 4, 5, 48, 40, 1768500000000)`,
  `INSERT INTO exit_counts (exit_id, node_id, boot, received, sent) VALUES ('exit_1', 'node_1', '2026', 6, 7)`,
  `INSERT INTO events (customer_id, seq, type, at, order_id, subject, data)
   VALUES ('cus_1', 1, 'proxy.moved', 5, NULL, '4', '{"ip":"8.8.8.8","who":"é b"}')`,
  `INSERT INTO event_numbers (customer_id, last, last_at) VALUES ('cus_1', 1, 5)`,
  `INSERT INTO exit_days (exit_id, day, received, sent) VALUES ('exit_1', 86400000, 6, 7)`,
]

const lineFigures = 'turn granted returned lapsed settled late claimable quarantined counted aside changed_at'
const checked = {
  usage_counts: ['received', 'sent', 'believed_received', 'believed_sent', 'updated_at'],
  usage_budgets: ['rest', 'at', `CASE purpose WHEN 'hosts' THEN 1 ELSE 0 END`],
  usage_leases: lineFigures.split(' '),
  traffic_hours: ['hour', 'received', 'sent'],
  traffic_hosts: ['hour', 'received', 'sent'],
  exit_counts: ['received', 'sent'],
  exit_days: ['day', 'received', 'sent'],
}

const findingsIn = async (db: Database) => (await createHistoryVerifier({ db }).verify()).findings
const run = (db: Database, sql: string) => db.transact((tx) => tx.run(sql))

describe.each([...engines])('the history of rows on %s', (engine) => {
  test('begins with what was there before it was kept, checksums too, and goes on by itself', async () => {
    const place = await makePlace(engine)
    const db = openDatabase(place.address)
    const shipped = readMigrations()
    const fresh = shipped.findIndex((each) => each.name === '0025-more-history')
    await migrate(db, shipped.slice(0, fresh))
    for (const sql of before) await run(db, sql)
    await migrate(db, shipped)
    expect(await findingsIn(db)).toEqual([])
    for (const [table, figures] of Object.entries(checked)) {
      const unsound = `SELECT * FROM ${table} WHERE checksum = 0 OR checksum <> ${checksumIn(figures)}`
      expect(await db.all(unsound)).toEqual([])
    }
    expect((await createEventsVerifier({ db, sha256 }).verify()).findings).toEqual([])
    await run(db, `UPDATE nodes SET drained_at = NULL, most_ports = 3`)
    await run(db, `UPDATE proxy_outages SET until_at = 20, given = 'nothing', expires_before = 30, expires_after = 30`)
    await run(db, `UPDATE stock_trials SET seen_as = '9.9.9.9'`)
    expect(await findingsIn(db)).toEqual([])
    await run(db, 'DELETE FROM stock_trials')
    expect(await findingsIn(db)).toEqual([])
    await db.close()
    await place.remove()
  })

  test('of what has only its latest version, one with a number is a finding', async () => {
    const opened = await openTestDatabase(engine)
    const { db } = opened
    await run(db, `INSERT INTO counters (name, next) VALUES ('place', 7)`)
    expect(await findingsIn(db)).toEqual([])
    await run(db, `UPDATE row_history SET version = 1 WHERE of_table = 'counters'`)
    expect(await findingsIn(db)).toMatchObject([{ promise: 'history', where: 'counters place' }])
    await opened.close()
  })
})
