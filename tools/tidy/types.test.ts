import { expect, test } from 'bun:test'
import { rulesBroken } from './planted.ts'
import { checkCasts, checkTypeNames } from './types.ts'

test('checkTypeNames finds an exported type that two files define', () => {
  const found = (second: string) =>
    checkTypeNames(
      new Map([
        ['src/api/a.ts', 'export type Place = string'],
        ['src/api/b.ts', second],
      ]),
    ).map(({ path, rule }) => [path, rule])
  expect(found('export type Place = number')).toEqual([['src/api/b.ts', 'type-name']])
  expect(found('export class Place {}')).toEqual([['src/api/b.ts', 'type-name']])
  expect(found('export interface Place { a: string }')).toEqual([['src/api/b.ts', 'type-name']])
  expect(found('type Place = number')).toEqual([])
  expect(found('export type Slot = number')).toEqual([])
  expect(found("export type { Place } from './a.ts'")).toEqual([])
})

test('checkCasts finds a cast of a row, of JSON and of an answer', () => {
  const broken = (text: string) => rulesBroken(checkCasts, 'src/domains/orders/store.ts', text)
  for (const text of [
    'row.kind as Kind',
    'rows[0] as Row',
    '(await tx.all(sql)) as Row[]',
    'JSON.parse(text) as Settings',
    '(await response.json()) as Answer',
  ]) {
    expect(broken(`const a = ${text}`)).toEqual(['cast'])
  }
  expect(broken("const a = ['b'] as const")).toEqual([])
  expect(broken('const a = toKind(row.kind)')).toEqual([])
})
