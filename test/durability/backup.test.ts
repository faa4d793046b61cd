import { describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openDatabase } from '../../src/db/open.ts'
import type { CustomerId } from '../../src/kernel/ids.ts'
import { type Engine, engines, makePlace, openTestDatabase, type Place } from '../harness/database.ts'
import { isLong } from '../harness/scale.ts'
import { runTurnpike } from '../harness/turnpike.ts'
import { addCustomer, wire } from '../harness/wired.ts'

const program = fileURLToPath(import.meta.resolve('./load.ts'))
const rounds = isLong ? 50 : 1

/** A shop that sells without pause, and what it has acknowledged so far. */
function startLoad(address: string, customers: readonly CustomerId[]) {
  const child = Bun.spawn([process.execPath, program, address, ...customers], { stdout: 'pipe', stderr: 'inherit' })
  const acknowledged: string[] = []
  const { promise: selling, resolve } = Promise.withResolvers<void>()
  async function collect(): Promise<void> {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of child.stdout) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      acknowledged.push(...lines.filter((line) => line !== 'begun'))
      if (acknowledged.length > 0) resolve()
    }
  }
  const collected = collect()
  return {
    selling,
    acknowledged,
    async kill() {
      child.kill('SIGKILL')
      await collected
      await child.exited
    },
  }
}

const envOf = (engine: Engine, place: Place): Record<string, string> => ({
  TURNPIKE_DATA: place.folder,
  TURNPIKE_SECRET_KEY: '00'.repeat(32),
  ...(engine === 'postgres' && { TURNPIKE_DATABASE_URL: place.address }),
})

/** A command that is killed at some moment every other time, and is then asked for again. */
async function insist(command: readonly string[], env: Record<string, string>): Promise<void> {
  if (Math.random() < 0.5) await runTurnpike(command, env, 200 + Math.floor(Math.random() * 1200))
  const { exit, err, out } = await runTurnpike(command, env)
  // The kill may have come too late for the first one.
  const isDone = exit === 0 || /not empty|already/.test(err)
  if (!isDone) throw new Error(`${command[0]} ended with ${exit}: ${err}${out}`)
}

async function ordersIn(place: Place): Promise<Set<string>> {
  const db = openDatabase(place.address)
  const rows = await db.all<{ id: string }>('SELECT id FROM orders')
  const halves = await db.first<{ n: bigint }>(
    `SELECT COUNT(*) AS n FROM orders WHERE NOT EXISTS
       (SELECT 1 FROM postings WHERE postings.customer_id = orders.customer_id AND postings.seq = orders.charge_seq)`,
  )
  await db.close()
  expect(halves?.n).toBe(0n)
  return new Set(rows.map((row) => row.id))
}

describe.each([...engines])('a backup of a shop on %s that sells', (engine) => {
  test(`${rounds} times over, with kills of all who take part, keeps every purchase acknowledged before it`, async () => {
    const { db, place } = await openTestDatabase(engine)
    const services = wire(db)
    const customers = [await addCustomer(services, 10n ** 12n), await addCustomer(services, 10n ** 12n)]
    await db.transact((tx) => services.customers.decideMode(tx, 'production'))
    await db.close()
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-backups-'))
    const everAcknowledged: string[] = []
    for (let round = 0; round < rounds; round += 1) {
      const load = startLoad(place.address, customers)
      await load.selling
      await Bun.sleep(Math.random() * 200)
      const before = [...everAcknowledged, ...load.acknowledged]
      const backup = join(folder, String(round))
      const killing = Bun.sleep(Math.random() * 1500).then(() => load.kill())
      await insist(['backup', backup], envOf(engine, place))
      await killing
      everAcknowledged.push(...load.acknowledged)
      const onto = engines[round % 2] ?? engine
      const target = await makePlace(onto)
      await insist(['restore', backup], envOf(onto, target))
      const kept = await ordersIn(target)
      expect(before.filter((order) => !kept.has(order))).toEqual([])
      await target.remove()
      rmSync(backup, { recursive: true, force: true })
    }
    expect(everAcknowledged.length).toBeGreaterThan(rounds)
    for (const left of readdirSync(folder)) expect(left).toContain('.partial-')
    rmSync(folder, { recursive: true, force: true })
    await place.remove()
  })
})
