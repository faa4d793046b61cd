import { describe, expect, test } from 'bun:test'
import { findDuplicateKey } from './duplicate-keys.ts'

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

  test('findDuplicateKey accepts the price list that the program ships', async () => {
    const shipped = await Bun.file(new URL('../../../domains/pricing/catalogue.yaml', import.meta.url)).text()
    expect(findDuplicateKey(shipped)).toBeUndefined()
    expect(findDuplicateKey(Bun.YAML.stringify(Bun.YAML.parse(shipped), null, 2))).toBeUndefined()
    expect(findDuplicateKey(JSON.stringify(Bun.YAML.parse(shipped), null, 2))).toBeUndefined()
  })
})
