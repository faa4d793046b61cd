import { expect, test } from 'bun:test'
import { isLong } from '../harness/scale.ts'
import { fuzzParser } from './fuzz.ts'
import { vpnParsers } from './parsers.ts'

const inputs = isLong ? 1_000_000 : 25_000

test.each(vpnParsers.map((parser) => [parser.name, parser] as const))(
  `the parser of %s gives the same events for every split of ${inputs} mutated inputs, and throws nothing`,
  (_, parser) => {
    const outcomes = fuzzParser(parser, Math.floor(Math.random() * 2 ** 31), inputs)
    // Mutations that always cause the same refusal would test one line of code.
    expect(outcomes.size).toBeGreaterThan(1)
  },
)
