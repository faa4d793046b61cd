import { createDice, mutate } from '../harness/dice.ts'
import { splitAt } from '../harness/protocol.ts'
import type { FuzzedParser } from './parsers.ts'

/** Cuts of the second reading; one input of this many is read byte by byte. */
const maxCuts = 3
const byteByByteEvery = 32

/**
 * Feeds mutated inputs to a parser, whole and in pieces. Throws with the seed of the input if the parser throws, or if
 * its events differ. Returns how often each kind of last event came.
 */
export function fuzzParser(
  { name, seeds, summarize }: FuzzedParser,
  firstSeed: number,
  count: number,
): ReadonlyMap<string, number> {
  const outcomes = new Map<string, number>()
  for (let seed = firstSeed; seed < firstSeed + count; seed += 1) {
    const dice = createDice(seed)
    const bytes = mutate(seeds, dice)
    const cuts =
      dice(byteByByteEvery) === 0
        ? Array.from(bytes, (_, index) => index)
        : Array.from({ length: 1 + dice(maxCuts) }, () => dice(bytes.length + 1))
    try {
      const whole = summarize([bytes])
      const cut = summarize(splitAt(bytes, cuts))
      if (whole.length !== cut.length || whole.some((line, index) => line !== cut[index]))
        throw new Error(`whole: ${JSON.stringify(whole)}; cut at ${cuts.join(', ')}: ${JSON.stringify(cut)}`)
      const outcome = /^[\w-]+/.exec(whole.at(-1) ?? 'nothing')?.[0] ?? 'other'
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    } catch (cause) {
      throw new Error(`npm run fuzz -- ${name} --seed ${seed} --count 1`, { cause })
    }
  }
  return outcomes
}
