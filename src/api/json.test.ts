import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { scaled } from '../../test/harness/scale.ts'
import { Refusal } from '../core/refusal.ts'
import { readJson } from './json.ts'

/** The parsed value, or undefined after a refusal. Other errors are thrown. */
function attempt(text: string): { value: unknown } | undefined {
  try {
    return { value: readJson(text) }
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}

const parsed = (text: string): { value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

/** Whether a value contains a part that readJson refuses although JSON.stringify writes it. */
function containsRefused(value: unknown, depth = 0): boolean {
  if (typeof value === 'number')
    return Object.is(value, -0) || (Number.isInteger(value) && !Number.isSafeInteger(value))
  if (typeof value === 'string') return value.includes('\0') || !value.isWellFormed()
  if (typeof value !== 'object' || value === null) return false
  if (depth === 16) return true
  return Object.entries(value).some(
    ([key, each]) => key === '__proto__' || containsRefused(key) || containsRefused(each, depth + 1),
  )
}

describe('readJson', () => {
  test('readJson reads every unambiguous value that JSON.stringify writes, and refuses the others', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 20 }), fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        const read = attempt(text)
        expect(read !== undefined).toBe(!containsRefused(JSON.parse(text)))
        if (read) expect(JSON.stringify(read.value)).toBe(JSON.stringify(value))
      }),
      { numRuns: scaled(20_000) },
    )
  })

  test('readJson returns the value of JSON.parse for every text that it accepts', () => {
    const piece = fc.constantFrom(
      ...'{}[]:,"\\ \n\t\r0123456789.-+eE'.split(''),
      'true',
      'false',
      'null',
      '"a"',
      '"a":',
      '\\u0041',
      '\\n',
      '\\x',
      '1e5',
      '-0',
      '0.5',
      '\u2028',
      '\ufeff',
      'é',
      '😀',
      '/*',
      '//',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('')
        const read = attempt(text)
        if (!read) return
        expect(JSON.stringify(parsed(text)?.value)).toBe(JSON.stringify(read.value))
      }),
      { numRuns: scaled(80_000) },
    )
  })

  test('readJson refuses every text that JSON.parse refuses', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.json().map((text) => text.slice(1)),
        ),
        (text) => {
          expect(parsed(text) !== undefined || attempt(text) === undefined).toBe(true)
        },
      ),
      { numRuns: scaled(20_000) },
    )
  })

  test('readJson reads every double that JSON.stringify writes exactly', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        fc.pre(!containsRefused(value))
        expect(readJson(JSON.stringify(value))).toBe(value)
      }),
      { numRuns: scaled(20_000) },
    )
  })

  test.each([
    ['1.0', 1],
    ['1.50e2', 150],
    ['150.00', 150],
    ['0.10', 0.1],
    ['1E2', 100],
    ['1e+2', 100],
    ['0', 0],
    ['0.0', 0],
    ['9007199254740991', 9007199254740991],
    ['-9007199254740991', -9007199254740991],
    ['5e-324', 5e-324],
  ])('readJson reads %s as the number %p', (text, value) => {
    expect(readJson(text)).toBe(value)
  })

  test.each([
    '1.00000000000000000001',
    '0.1000000000000000055511151231257827',
    '9007199254740992',
    '9007199254740993',
    '1e16',
    '1e309',
    '-1e309',
    '-0',
    '-0.0',
    '-0e5',
    '1e-400',
    '1e99999999999999999999',
    `0.${'0'.repeat(100)}1`,
    '9'.repeat(60_000),
    `${'0'.repeat(9)}1`,
    '01',
    '1.',
    '.1',
    '+1',
    '1e',
    '--1',
  ])('readJson refuses %p, which is malformed or not exact as a double', (text) => {
    expect(attempt(text)).toBeUndefined()
  })

  test('readJson refuses a duplicate key in any spelling and __proto__, and its objects have no prototype', () => {
    for (const text of ['{"a":1,"a":1}', '{"a":1,"\\u0061":2}', '{"__proto__":1}', '{"x":{"\\u005f_proto__":1}}']) {
      expect(attempt(text)).toBeUndefined()
    }
    const read = readJson('{"constructor": 1, "toString": 2, "hasOwnProperty": 3, "": 4}') as Record<string, unknown>
    expect(Object.getPrototypeOf(read)).toBeNull()
    expect(Object.entries(read)).toEqual([
      ['constructor', 1],
      ['toString', 2],
      ['hasOwnProperty', 3],
      ['', 4],
    ])
  })

  test('readJson reads 16 levels of nesting, and refuses 17 and 100,000', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
    expect(attempt(nested(16))).toBeDefined()
    expect(attempt(nested(17))).toBeUndefined()
    expect(attempt('['.repeat(100_000))).toBeUndefined()
    expect(attempt('{"a":'.repeat(100_000))).toBeUndefined()
  })

  test('readJson reads a string literal of 65,000 characters', () => {
    for (const filler of ['x', '\\n', '\\u00e9', '😀', '\\"']) {
      const text = `"${filler.repeat(Math.floor(65_000 / filler.length))}"`
      expect(readJson(text)).toBe(JSON.parse(text))
    }
  })
})
