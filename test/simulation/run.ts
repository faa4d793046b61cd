/**
 * The simulation as a command.
 *
 *     npm run simulate -- --seeds N [--from N] [--short] [--engine postgres]
 *     npm run simulate -- --seed N [--short] [--engine postgres] [--trace]
 *
 * Runs seeds one after another. A seed that breaks a promise is shrunk, its trace is printed, and the command exits
 * with 1. `--seed` repeats one. `--until-broken` ends with the first broken seed, as it is.
 *
 * `--engine postgres` runs one or two shops on a real server, with its statements as steps.
 * A process runs at most 500 seeds: the runtime keeps some of the schemas of each simulated shop.
 */
import { parseArgs } from 'node:util'
import { runSeed } from './seeds.ts'
import { makeTemplate } from './template.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    from: { type: 'string' },
    trace: { type: 'boolean' },
    short: { type: 'boolean' },
    engine: { type: 'string' },
    'until-broken': { type: 'boolean' },
  },
})
const first = Number(values.seed ?? values.from ?? 1)
const count = values.seed === undefined ? Number(values.seeds ?? 100) : 1
const reportEvery = 100
const length = values.short === true ? 'short' : 'long'
/** Ends with the first broken seed, and does not shrink it. */
const isUntilBroken = values['until-broken'] === true
/** Runs of a failing seed on PostgreSQL take seconds each. */
const maxServerRuns = 40

const engine = values.engine === 'postgres' ? 'postgres' : 'sqlite'
const maxRuns = isUntilBroken ? 1 : engine === 'postgres' ? maxServerRuns : undefined
/** The most that one process simulates. */
const maxSeeds = 500

type Totals = { purchases: number; crashes: number; broken: number }
const totals: Totals = { purchases: 0, crashes: 0, broken: 0 }

async function runHere(): Promise<void> {
  const template = await makeTemplate(engine)
  for (let seed = first; seed < first + count; seed += 1) {
    const result = await runSeed(template, seed, length, maxRuns)
    totals.purchases += result.purchases
    totals.crashes += result.crashes
    if (values.trace === true) console.log(result.trace.join('\n'))
    if (result.failure !== undefined) {
      totals.broken += 1
      console.log(`seed ${seed}\n${result.failure}\n`)
      if (isUntilBroken) break
    }
    if ((seed - first + 1) % reportEvery === 0) console.log(`${seed - first + 1} seeds: ${JSON.stringify(totals)}`)
  }
  await template.remove()
}

/** The same command with a part of the seeds. Its last line has the totals. */
async function runPart(from: number, seeds: number): Promise<void> {
  const options = Object.entries(values).flatMap(([name, value]) =>
    name === 'from' || name === 'seeds' ? [] : value === true ? [`--${name}`] : [`--${name}`, String(value)],
  )
  const command = [process.execPath, import.meta.path, ...options, '--from', `${from}`, '--seeds', `${seeds}`]
  const child = Bun.spawn(command, { stdout: 'pipe', stderr: 'inherit' })
  const lines = (await new Response(child.stdout).text()).trimEnd().split('\n')
  const last = lines.pop() ?? ''
  const found = /\{.*\}$/.exec(last)?.[0]
  if (lines.length > 0) console.log(lines.filter((line) => !/^\d+ seeds: /.test(line)).join('\n'))
  if (found === undefined) throw new Error(`the seeds from ${from} have ended early: ${last}`)
  const part = JSON.parse(found) as Totals
  for (const each of ['purchases', 'crashes', 'broken'] as const) totals[each] += part[each]
}

const startedAt = performance.now()
if (count <= maxSeeds) await runHere()
else {
  for (let done = 0; done < count; done += maxSeeds) {
    const seeds = Math.min(maxSeeds, count - done)
    await runPart(first + done, seeds)
    console.log(`${done + seeds} seeds: ${JSON.stringify(totals)}`)
    if (isUntilBroken && totals.broken > 0) break
  }
}
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
console.log(`${count} seeds in ${seconds} s: ${JSON.stringify(totals)}`)
process.exit(totals.broken === 0 ? 0 : 1)
