import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { hasSameValues } from './respell.ts'

type Value = string | bigint | Uint8Array | null

const value = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', "'", '\\', ',', '\n', 'я', '"', 'E', 'X', '5', ' ') }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.uint8Array({ maxLength: 8 }),
  fc.constant(null),
)

const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** The spelling of SQLite's `QUOTE`. */
function inSqlite(each: Value): string {
  if (each === null) return 'NULL'
  if (typeof each === 'bigint') return String(each)
  return typeof each === 'string' ? quote(each) : `X'${each.toHex().toUpperCase()}'`
}

/** The spelling of PostgreSQL's `quote_nullable(to_jsonb(…) ->> …)`. */
function inPostgres(each: Value): string {
  if (each === null) return 'NULL'
  const text = typeof each === 'string' ? each : typeof each === 'bigint' ? String(each) : `\\x${each.toHex()}`
  return text.includes('\\') ? `E${quote(text.replaceAll('\\', '\\\\'))}` : quote(text)
}

describe('row contents in the spelling of either engine', () => {
  test('hasSameValues is true for equal values in the SQLite and the PostgreSQL spelling, and false for others', () => {
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 6 }), fc.array(value, { minLength: 1 }), (row, other) => {
        const [one, two] = [row.map(inSqlite).join(','), row.map(inPostgres).join(',')]
        expect(hasSameValues(one, two)).toBeTrue()
        const third = other.map(inPostgres).join(',')
        if (third !== two) expect(hasSameValues(one, third)).toBeFalse()
      }),
      { numRuns: 2000 },
    )
  })

  test('hasSameValues is false for malformed contents', () => {
    for (const text of ['', 'nonsense', "'open", '1,', ',1']) expect(hasSameValues('1', text)).toBeFalse()
    expect(hasSameValues("sealed,'a'", "sealed,'a'")).toBeTrue()
  })
})
