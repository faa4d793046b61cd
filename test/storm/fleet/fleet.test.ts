import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Engine } from '../../harness/database.ts'
import { isLong } from '../../harness/scale.ts'
import { findFleetObstacle } from './net.ts'
import type { FleetOutcome } from './storm.ts'
import { toFleetTable } from './table.ts'

const program = join(import.meta.dir, '../run.ts')
const withinMs = 900_000
const engines: readonly Engine[] = ['sqlite', 'postgres']
const obstacle = isLong ? await findFleetObstacle() : undefined
if (obstacle !== undefined) process.stderr.write(`not run here: a storm over a fleet; ${obstacle}\n`)

/** A separate program: it moves into its own network namespace and stays there. */
async function runStorm(engine: Engine): Promise<FleetOutcome> {
  const args = ['--fleet', '--engine', engine, '--minutes', '1', '--customers', '3', '--json']
  const child = Bun.spawn([process.execPath, '--no-env-file', program, ...args], {
    env: process.env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: withinMs,
    killSignal: 'SIGKILL',
  })
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
  if (!out.startsWith('{')) throw new Error(`the storm did not come to its end: ${err}`)
  return JSON.parse(out) as FleetOutcome
}

describe.each(isLong && obstacle === undefined ? engines : [])('a storm over a fleet on %s', (engine) => {
  test('every sold proxy in a fleet with faults works or is compensated, and no address has two owners', async () => {
    const outcome = await runStorm(engine)
    expect({ problems: outcome.problems, table: outcome.problems.length > 0 ? toFleetTable(outcome) : '' }).toEqual({
      problems: [],
      table: '',
    })
    expect(outcome.first.sold).toBeGreaterThan(5)
    expect(outcome.first.atOnce + outcome.first.later + outcome.first.madeGood).toBe(outcome.first.sold)
    expect(outcome.honest.usedBytes).toBeGreaterThan(0)
    expect(outcome.requestRates).toHaveLength(3)
  })
})
