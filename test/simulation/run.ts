/**
 * The simulation as a command.
 *
 *     npm run simulate -- --seeds N [--from N] [--short]     npm run simulate -- --seed N [--short] [--trace]
 *
 * Runs seeds one after another. A seed that breaks a promise is shrunk, its trace is printed, and the command exits
 * with 1. `--seed` repeats one. `--until-broken` ends with the first broken seed, as it is.
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
    'until-broken': { type: 'boolean' },
  },
})
const first = Number(values.seed ?? values.from ?? 1)
const count = values.seed === undefined ? Number(values.seeds ?? 100) : 1
const reportEvery = 100
const length = values.short === true ? 'short' : 'long'
/** Ends with the first broken seed, and does not shrink it. */
const isUntilBroken = values['until-broken'] === true

const template = await makeTemplate()
const startedAt = performance.now()
const totals = { purchases: 0, crashes: 0, broken: 0 }
for (let seed = first; seed < first + count; seed += 1) {
  const result = await runSeed(template, seed, length, isUntilBroken ? 1 : undefined)
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
template.remove()
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
console.log(`${count} seeds in ${seconds} s: ${JSON.stringify(totals)}`)
process.exit(totals.broken === 0 ? 0 : 1)
