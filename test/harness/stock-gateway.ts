import { createVault } from '../../src/adapters/crypto.ts'
import { createServices, realRuntime, type Services } from '../../src/app/shop/services.ts'
import { readPrefix } from '../../src/core/address.ts'
import { openDatabase } from '../../src/db/open.ts'
import { maxWrittenOut, sizeOf } from '../../src/domains/stock/rules.ts'
import type { TestDatabase } from './database.ts'

const name = 'stock-gateway'
/** A last report and proofs that never expire, whatever the clock of a test shows. */
const farAhead = 8_000_000_000_000_000

/**
 * Adds a gateway that is always up and serves all stock, for tests and benchmarks without their own gateway: without
 * one nothing is sold. It is added with the first stock. Its claim uses the path of a gateway at the shop's socket; no
 * address was tried, and its proofs do not expire.
 */
export function addStockGateway<Given extends Services>(services: Given): Given {
  const { stock } = services
  const before = { ...stock }
  stock.add = async (...given) => {
    const added = await before.add(...given)
    await serveAllStock(services)
    return added
  }
  stock.addAddresses = async (...given) => {
    const added = await before.addAddresses(...given)
    await serveAllStock(services)
    return added
  }
  return services
}

/** The gateway serves all stock that exists now. */
export async function serveAllStock(services: Pick<Services, 'db' | 'fleet' | 'stock' | 'customers'>): Promise<void> {
  const { ranges } = await services.stock.ranges.overview()
  if (ranges.length === 0) return
  const node = await services.fleet.findByName(name)
  const id = node?.id ?? (await addGateway(services))
  const tried = ranges.flatMap((range) => {
    const prefix = readPrefix(range.prefix)
    if (!prefix || range.state !== 'in') return []
    const size = sizeOf(prefix) > maxWrittenOut ? 1 : Number(sizeOf(prefix))
    return [{ range: range.id, served: [[0, size] as const], problems: [], seenAs: null }]
  })
  await services.stock.ranges.tried(id, tried, true)
  // A shop that is not in production yet did not need proofs so far.
  const proven = (await services.customers.mode()) === 'production' ? 'proof_until > 0' : 'proof_until >= 0'
  await services.db.transact((tx) =>
    tx.run(`UPDATE stock_trials SET proof_until = $2, proven_at = 0 WHERE node_id = $1 AND ${proven}`, [id, farAhead]),
  )
}

/** The same for stock that was prepared with the database, which may be served already. */
export async function serveStockUnlessServed(
  services: Pick<Services, 'db' | 'fleet' | 'stock' | 'customers'>,
): Promise<void> {
  if (!(await services.fleet.findByName(name))) await serveAllStock(services)
}

function addGateway({ db, fleet }: Pick<Services, 'db' | 'fleet'>): Promise<string> {
  return db.transact(async (tx) => {
    const { id } = await fleet.add(tx, { kind: 'gateway', name, location: 'test' })
    await tx.run('UPDATE nodes SET last_seen_at = $2 WHERE id = $1', [id, farAhead])
    return id
  })
}

/** The same on the database of a shop that runs in another process. */
export async function serveStockOf(testDatabase: TestDatabase): Promise<void> {
  const db = openDatabase(testDatabase.address)
  const config = { vault: createVault(new Uint8Array(32)), gateway: { host: '127.0.0.1', port: 10_800 } }
  try {
    await serveAllStock(createServices(db, realRuntime, config))
  } finally {
    await db.close()
  }
}
