import { expect, test } from 'bun:test'
import { checkCycles, findCycles } from './cycles.ts'

test('checkCycles names the files of a circle, also of type imports, and no others', () => {
  const files = new Map([
    ['src/core/a.ts', `import { b } from './b.ts'\nexport const a = b`],
    ['src/core/b.ts', `import type { C } from './deep/c.ts'\nexport const b: C = 1`],
    ['src/core/deep/c.ts', `import { a } from '../a.ts'\nexport type C = typeof a`],
    ['src/core/d.ts', `import { a } from './a.ts'\nexport const d = a`],
  ])
  const found = checkCycles(files).map(({ path, explanation }) => [path, explanation])
  expect(found).toEqual([
    ['src/core/a.ts', 'these files import each other: src/core/a.ts, src/core/b.ts, src/core/deep/c.ts'],
  ])
})

test('findCycles separates two circles that share no file', () => {
  const imports = new Map([
    ['a', ['b']],
    ['b', ['a', 'c']],
    ['c', ['d']],
    ['d', ['c', 'e']],
    ['e', []],
  ])
  expect(findCycles(imports).toSorted((one, other) => String(one).localeCompare(String(other)))).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ])
})
