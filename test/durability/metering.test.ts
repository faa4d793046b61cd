import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SubuserId } from '../../src/core/ids.ts'
import { shippedTerms } from '../../src/domains/premium/rules.ts'
import { subjectOf } from '../../src/domains/traffic/accounts/rules.ts'
import { enginesOf } from '../harness/database.ts'
import { isLong } from '../harness/scale.ts'
import { type Service, startService } from '../harness/service.ts'
import { waitLimitMs } from '../harness/until.ts'
import { findingsOf } from '../harness/vpn.ts'
import { keylessRequest } from '../harness/wired.ts'

const program = fileURLToPath(import.meta.resolve('./relay-load.ts'))
const pool = 'residential'
const subuserCount = 3
/** The shop accepts ten boots of a node per minute. */
const bootIntervalMs = 6_000

/**
 * Output of one agent process about one sub-user: the maximum that it may have relayed, and the bytes surely in its
 * journal.
 */
type Printed = { will: number; noted: number }

/** How often each word was printed when the agent is killed. */
type Moment = Readonly<Record<'will' | 'noted' | 'reported', number>>
/** The moments to kill at: bytes counted and not in the journal; in the journal and not reported; reported. */
const moments: readonly Moment[] = [
  { will: 10, noted: 0, reported: 0 },
  { will: 0, noted: 2 * subuserCount, reported: 0 },
  { will: 0, noted: 3 * subuserCount, reported: 2 },
]

const kills = isLong ? 50 : moments.length

class Agents {
  readonly printed = new Map<string, Printed>()

  constructor(readonly args: readonly string[]) {}

  /** Runs the agent over a link of this quality, and sends the signal once it has printed the words so many times. */
  async run(quality: 'rough' | 'smooth', moment: Moment, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = Bun.spawn([process.execPath, program, quality, ...this.args], {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'inherit',
      timeout: 4 * waitLimitMs,
      killSignal: 'SIGABRT',
    })
    const missing: Record<string, number> = { ...moment }
    const decoder = new TextDecoder()
    let rest = ''
    let isSent = false
    for await (const chunk of child.stdout) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const event = this.read(line)
        missing[event] = (missing[event] ?? 0) - 1
      }
      if (isSent || Object.values(missing).some((count) => count > 0)) continue
      isSent = true
      child.kill(signal)
    }
    await child.exited
    expect(child.signalCode).toBe(signal === 'SIGKILL' ? 'SIGKILL' : null)
  }

  private read(line: string): string {
    const [what = '', boot, subuser, total] = line.split(' ')
    const key = `${boot} ${subuser}`
    const known = this.printed.get(key) ?? { will: 0, noted: 0 }
    if (what === 'will' || what === 'noted') this.printed.set(key, { ...known, [what]: Number(total) })
    return what
  }
}

describe.each([...enginesOf('postgres')])('an agent killed while it relays, before a shop on %s', (engine) => {
  let service: Service
  let folder = ''
  beforeAll(async () => {
    service = await startService(engine)
    folder = mkdtempSync(join(tmpdir(), 'turnpike-agent-'))
  })
  afterAll(async () => {
    await service.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  async function makeSubusers(): Promise<SubuserId[]> {
    const { customer } = await service.newCustomer(100_000_000n)
    const { premium } = service.services
    const ids: SubuserId[] = []
    for (let index = 0; index < subuserCount; index += 1) {
      const { id } = await premium.subusers.create(customer, { name: `s${index}` })
      await premium.traffic.buy(keylessRequest(customer), { pool, tenths: 1_000, subuser: id })
      ids.push(id)
    }
    return ids
  }

  async function countsOfBoots(): Promise<Map<string, number>> {
    const rows = await service.services.db.all<{ boot: string; subject: string; total: bigint }>(
      'SELECT boot, subject, received + sent AS total FROM usage_counts',
    )
    return new Map(rows.map((row) => [`${row.boot} ${row.subject.split(':')[1]}`, Number(row.total)]))
  }

  async function usedBy(id: SubuserId): Promise<{ used: bigint; aside: bigint }> {
    const row = await service.services.db.first<{ used: bigint; aside: bigint }>(
      'SELECT used, aside FROM traffic_accounts WHERE subuser_id = $1 AND pool = $2',
      [id, pool],
    )
    return row ?? { used: -1n, aside: -1n }
  }

  test(`the shop bills an agent killed by SIGKILL ${kills} times for every journalled byte and no unrelayed byte`, async () => {
    const { db, fleet, traffic } = service.services
    const subusers = await makeSubusers()
    // The test's clock does not move while an agent runs, so the link must be fast enough for all bytes at once.
    const node = { kind: 'gateway', name: 'gw', location: 'test', linkMegabits: 1_000_000 } as const
    await db.transact((tx) => fleet.add(tx, node))
    const key = (await fleet.issueKey('gw')).text
    const agents = new Agents([service.url, folder, key, ...subusers])
    for (let kill = 0; kill < kills; kill += 1) {
      service.clock.advance(bootIntervalMs)
      await agents.run('rough', moments[kill % moments.length] as Moment, 'SIGKILL')
      for (const [run, total] of await countsOfBoots()) {
        expect(total).toBeLessThanOrEqual(agents.printed.get(run)?.will ?? 0)
      }
    }
    const journals = () => readdirSync(folder).filter((name) => name.startsWith('journal-'))
    // A stop without time for its last report leaves it to the next start: it has 5 s.
    const reported: Moment = { will: 0, noted: subuserCount, reported: 2 }
    // On a starved machine an agent is stopped before it has relayed for each sub-user.
    const isWhole = async () => {
      const runs = [...(await countsOfBoots()).keys()]
      return journals().length === 0 && subusers.every((id) => runs.some((run) => run.endsWith(` ${id}`)))
    }
    for (let run = 0; run === 0 || (run < 10 && !(await isWhole())); run += 1) {
      service.clock.advance(bootIntervalMs)
      await agents.run('smooth', reported, 'SIGTERM')
    }
    const counts = await countsOfBoots()
    for (const [run, { will, noted }] of agents.printed) {
      expect(counts.get(run) ?? 0).toBeGreaterThanOrEqual(noted)
      expect(counts.get(run) ?? 0).toBeLessThanOrEqual(will)
    }
    expect(journals()).toEqual([])

    // After the leases of dead agents lapse, the books have used the counted bytes, and nothing is set aside.
    service.clock.advance(shippedTerms.leaseLastsMs + 1)
    await traffic.leases.lapse()
    const totals = await traffic.counts.totals(
      db,
      subusers.map((id) => subjectOf({ subuser: id, pool })),
    )
    for (const id of subusers) {
      const total = totals.get(subjectOf({ subuser: id, pool }))
      expect(await usedBy(id)).toEqual({ used: (total?.received ?? -1n) + (total?.sent ?? 0n), aside: 0n })
      expect(total?.sent).toBeGreaterThan(0n)
    }
    expect(await traffic.leases.quarantined(10)).toEqual([])
    expect(await findingsOf(service)).toEqual([])
  })
})
