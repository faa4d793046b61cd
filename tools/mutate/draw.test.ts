import { expect, test } from 'bun:test'
import { findChanges } from './changes.ts'
import { draw, isChanged, nameOf, toMutant } from './draw.ts'

const mutantsOf = (path: string, source: string) => findChanges(path, source).map((change) => toMutant(source, change))
const source = Array.from({ length: 20 }, (_, index) => `export const f${index} = (a) => a > ${index}\n`).join('')
const files = ['a', 'b', 'c', 'd'].map((name) => `src/domains/${name}/rules.ts`)
const all = files.flatMap((path) => mutantsOf(path, source))
const namesOf = (drawn: readonly Parameters<typeof nameOf>[0][]) => drawn.map(nameOf)

test('draw returns the same changes for the same seed and other changes for another seed', () => {
  expect(namesOf(draw(all, 7, 8))).toEqual(namesOf(draw(all, 7, 8)))
  expect(namesOf(draw(all, 7, 8))).not.toEqual(namesOf(draw(all, 8, 8)))
})

test('draw returns the same changes after a line was added above them', () => {
  const moved = files.flatMap((path) => mutantsOf(path, `// A comment.\n${source}`))
  expect(namesOf(draw(moved, 7, 8))).toEqual(namesOf(draw(all, 7, 8)))
})

test('draw returns no two overlapping changes and at most 3 for a file', () => {
  const drawn = draw(all, 1, 100)
  expect(drawn).toHaveLength(12)
  for (const one of drawn) {
    const same = drawn.filter((other) => other.path === one.path && other.at < one.end && one.at < other.end)
    expect(same).toEqual([one])
  }
})

test('draw changes one of several equal lines', () => {
  const alike = mutantsOf('src/db/rows.ts', 'f(() => {\n  g(a < b)\n  h()\n  g(a < b)\n})\n')
  const names = draw(alike, 1, 100).map(nameOf)
  expect(new Set(names).size).toBe(names.length)
})

test('toMutant gives a change its line number and its line before and after', () => {
  const [first] = mutantsOf('src/db/rows.ts', 'const a = 1\n  const b =   c && d\n').filter(
    ({ kind }) => kind === 'and/or swapped',
  )
  expect(first).toMatchObject({ line: 2, before: 'const b = c && d', after: 'const b = c || d' })
})

test('isChanged excludes tests, messages, index files and folders that were not requested', () => {
  expect(isChanged('src/domains/ledger/rules.ts', [])).toBe(true)
  for (const path of ['ledger/rules.test.ts', 'ledger/errors.ts', 'ledger/index.ts']) {
    expect(isChanged(`src/domains/${path}`, [])).toBe(false)
  }
  expect(isChanged('src/app/up.ts', [])).toBe(false)
  expect(isChanged('src/db/rows.ts', ['src/api'])).toBe(false)
})
