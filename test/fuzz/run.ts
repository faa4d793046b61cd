/**
 * `npm run fuzz -- [names…] [--seed N] [--count N]`: feeds mutated bytes to the parsers of all VPN ways in, and prints
 * what they made of them. Input number I has the seed N + I - 1: a failure names its own.
 */
import { readdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { fuzzParser } from './fuzz.ts'
import { vpnParsers } from './parsers.ts'

const { values, positionals } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  options: { seed: { type: 'string' }, count: { type: 'string', default: '1000000' } },
})
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
const count = Number(values.count)
const unknown = positionals.filter((name) => !vpnParsers.some((parser) => parser.name === name))
if (unknown.length > 0 || !Number.isSafeInteger(seed) || !(Number.isSafeInteger(count) && count > 0)) {
  process.stderr.write(`fuzz: the parsers are ${vpnParsers.map(({ name }) => name).join(', ')}; numbers are whole\n`)
  process.exit(2)
}

const countDescriptors = (): number => readdirSync('/proc/self/fd').length

process.stdout.write(`seed ${seed}\n`)
for (const parser of vpnParsers) {
  if (positionals.length > 0 && !positionals.includes(parser.name)) continue
  const [descriptors, startedAt] = [countDescriptors(), performance.now()]
  const outcomes = [...fuzzParser(parser, seed, count)].toSorted(([, one], [, other]) => other - one)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  const kinds = outcomes.map(([name, times]) => `${name} ${times}`).join(', ')
  const left = countDescriptors() - descriptors
  process.stdout.write(`${parser.name}: ${count} inputs in ${seconds} s, ${left} descriptors left; ${kinds}\n`)
  if (left > 0) process.exit(1)
}
