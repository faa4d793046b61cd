import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { scaled } from '../../../../test/harness/scale.ts'
import { findDuplicateKey } from './duplicate-keys.ts'

/** JSON whose objects may have a key twice, which no object of JavaScript has. */
type Node = { readonly entries: readonly (readonly [string, Node])[] } | { readonly items: readonly Node[] } | string

const { object } = fc.letrec<{ node: Node; object: Node }>((tie) => {
  const key = fc.oneof(fc.constantFrom('a', '1', 'a: b', '{', '#', '- a'), fc.string({ maxLength: 3 }))
  const text = fc.oneof(key, fc.constantFrom('", "a": 1', ' # a', '{"a":1,"a":2}')).map((each) => JSON.stringify(each))
  const leaf = fc.oneof(text, fc.constantFrom('1', '-2.5', 'true', 'null'))
  const entries = fc.array(fc.tuple(key, tie('node')), { maxLength: 4 }).map((each) => ({ entries: each }))
  const items = fc.array(tie('node'), { maxLength: 3 }).map((each) => ({ items: each }))
  return { object: entries, node: fc.oneof({ maxDepth: 4, withCrossShrink: true }, leaf, entries, items) }
})

/** One line without spaces if `indent` is undefined, otherwise as `JSON.stringify` indents. */
function print(of: Node, indent: string | undefined, margin = ''): string {
  if (typeof of === 'string') return of
  const inner = margin + (indent ?? '')
  const [begin, end] = indent === undefined ? ['', ''] : [`\n${inner}`, `\n${margin}`]
  const colon = indent === undefined ? ':' : ': '
  const isObject = 'entries' in of
  const parts = isObject
    ? of.entries.map(([key, value]) => JSON.stringify(key) + colon + print(value, indent, inner))
    : of.items.map((each) => print(each, indent, inner))
  const [open, close] = isObject ? ['{', '}'] : ['[', ']']
  return parts.length === 0 ? open + close : open + begin + parts.join(`,${begin}`) + end + close
}

function hasDuplicate(of: Node): boolean {
  if (typeof of === 'string') return false
  if ('items' in of) return of.items.some(hasDuplicate)
  const keys = of.entries.map(([key]) => key)
  return new Set(keys).size < keys.length || of.entries.some(([, value]) => hasDuplicate(value))
}

describe('findDuplicateKey', () => {
  const twice: readonly (readonly [string, string, string])[] = [
    [
      'a block mapping',
      'dedicated:\n  FR:\n    per_day: 6.00\n  DE:\n    per_day: 5\n  FR:\n    per_day: 0.01\n',
      'FR',
    ],
    ['a mapping in braces', 'months: { 1: 5, 1: 6 }', '1'],
    ['a nested mapping in braces', 'vpn: { months: { 1: 5 }, months: { 1: 6 } }', 'months'],
    ['JSON', '{\n  "vpn": { "months": { "1": 5, "1": 6 } }\n}', '1'],
    ['compact JSON', '{"vpn":{"months":{"1":5,"1":6}}}', '1'],
    ['JSON with an escaped letter', '{"a":1,"\\u0061":2}', 'a'],
    ['JSON with a colon on the next line', '{"a"\n:1,"a"\n:2}', 'a'],
    ['two spellings of a number', '{ 1: 5, 1.0: 6 }', '1'],
    ['quoted and plain keys', `"FR": 1\nFR: 2\n`, 'FR'],
    ['an item of a list', '- a: 1\n  a: 2\n', 'a'],
    ['lines with comments', 'FR: 1 # once: here\n# FR: 3\nFR: 2\n', 'FR'],
  ]
  for (const [what, text, key] of twice) {
    test(`findDuplicateKey names the key that ${what} has twice`, () => {
      expect(findDuplicateKey(text)).toBe(key)
    })
  }

  test('findDuplicateKey accepts equal keys in 3 mappings, in lists, in texts and in comments', () => {
    const text = [
      'dedicated:',
      '  FR: { per_day: 6, count: { 10: 5 } }',
      '  DE: { per_day: 6, count: { 10: 5 } }',
      'premium:',
      '  FR:',
      '    per_day: 1',
      '  note: "FR: a, FR: b"',
      'list: [{ a: 1 }, { a: 2 }]',
      'items:',
      '  - a: 1',
      '    b: 2',
      '  - a: 3 # a: 4',
      '    b: 4',
    ].join('\n')
    expect(findDuplicateKey(text)).toBeUndefined()
  })

  test('findDuplicateKey finds a key that an object of random JSON has twice, compact or pretty, and no other', () => {
    fc.assert(
      fc.property(object, fc.constantFrom(undefined, '', '  ', '\t'), (each, indent) => {
        expect(findDuplicateKey(print(each, indent)) !== undefined).toBe(hasDuplicate(each))
      }),
      { numRuns: scaled(2000) },
    )
  })

  test('findDuplicateKey accepts the price list that the program ships', async () => {
    const shipped = await Bun.file(new URL('../../../domains/pricing/catalogue.yaml', import.meta.url)).text()
    expect(findDuplicateKey(shipped)).toBeUndefined()
    expect(findDuplicateKey(Bun.YAML.stringify(Bun.YAML.parse(shipped), null, 2))).toBeUndefined()
    expect(findDuplicateKey(JSON.stringify(Bun.YAML.parse(shipped), null, 2))).toBeUndefined()
    expect(findDuplicateKey(JSON.stringify(Bun.YAML.parse(shipped)))).toBeUndefined()
  })
})
