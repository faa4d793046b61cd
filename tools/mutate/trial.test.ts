import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findChanges } from './changes.ts'
import { toMutant } from './draw.ts'
import { findFailure, tryMutant } from './trial.ts'

const path = 'src/domains/shop/rules.ts'
const source = 'export const isDear = (price: number): boolean => price > 100\n'
const folder = mkdtempSync(join(tmpdir(), 'turnpike-trial-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A project of one rule, with a type-checker that finds no fault. */
function makeGround(tests: { readonly [name: string]: string }) {
  const root = mkdtempSync(join(folder, 'project-'))
  mkdirSync(join(root, 'src/domains/shop'), { recursive: true })
  mkdirSync(join(root, 'node_modules/.bin'), { recursive: true })
  writeFileSync(join(root, 'node_modules/.bin/tsc'), '#!/bin/sh\n', { mode: 0o755 })
  writeFileSync(join(root, path), source)
  for (const [name, body] of Object.entries(tests)) {
    const head = "import { expect, test } from 'bun:test'\nimport { isDear } from './src/domains/shop/rules.ts'\n"
    writeFileSync(join(root, name), `${head}${body}\n`)
  }
  return { root, temporary: join(root, 't'), env: {}, sources: new Map([[path, source]]), sound: new Set<string>() }
}

const mutant = findChanges(path, source)
  .map((change) => toMutant(source, change))
  .find(({ after }) => after.includes('>='))

async function outcomeOf(tests: { readonly [name: string]: string }) {
  if (!mutant) throw new Error('there is no such change')
  const ground = makeGround(tests)
  const outcome = await tryMutant(
    ground,
    mutant,
    Object.keys(tests).map((name) => ({ tests: [name] })),
    60_000,
  )
  expect(readFileSync(join(ground.root, path), 'utf8')).toBe(source)
  return outcome
}

const border = "test('a hundred is not dear', () => expect(isDear(100)).toBe(false))"
const far = "test('a thousand is dear', () => expect(isDear(1000)).toBe(true))"

test('a change at a border is noticed by the test that stands there', async () => {
  expect(await outcomeOf({ 'a.test.ts': far, 'b.test.ts': border })).toMatchObject({
    outcome: 'noticed',
    by: 'b.test.ts: a hundred is not dear',
  })
})

test('a change that no test stands near survives', async () => {
  expect(await outcomeOf({ 'a.test.ts': far })).toMatchObject({ outcome: 'survived', by: '1 of 1 files of tests' })
})

test('a test that fails only after others of its file notices all the same', async () => {
  const both = [
    'let bought = 0',
    "test('things are bought', () => { bought += 100 })",
    "test('what was bought is not dear', () => expect(isDear(bought)).toBe(false))",
  ]
  expect((await outcomeOf({ 'a.test.ts': both.join('\n') })).outcome).toBe('noticed')
})

test('a test that cannot pass alone notices in its file', async () => {
  const both = [
    'let bought = 1000',
    "test('less is bought', () => { bought = 100 })",
    "test('what was bought is not dear', () => expect(isDear(bought)).toBe(false))",
  ]
  expect((await outcomeOf({ 'a.test.ts': both.join('\n') })).outcome).toBe('noticed')
})

test('a test that fails without the change too notices nothing', async () => {
  const broken = "test('it never passes (here)', () => expect(isDear(5)).toBe(true))"
  expect((await outcomeOf({ 'a.test.ts': broken })).outcome).toBe('survived')
})

test('a test that fails once and then not again notices nothing', async () => {
  const moody = [
    "import { existsSync, writeFileSync } from 'node:fs'",
    "const seen = new URL('./seen', import.meta.url).pathname",
    "test('it is late the first time', () => {",
    '  const isAgain = existsSync(seen)',
    "  writeFileSync(seen, '')",
    '  expect(isAgain && isDear(1000)).toBe(true)',
    '})',
  ]
  expect((await outcomeOf({ 'a.test.ts': moody.join('\n') })).outcome).toBe('survived')
})

test('a file that does not load is a failure of that file', () => {
  const output = 'a.test.ts:\nerror: cannot find it\n'
  expect(findFailure({ exitCode: 1, output, isCut: false })).toEqual({ file: 'a.test.ts', test: undefined })
  expect(findFailure({ exitCode: 143, output, isCut: true })).toBe('unknown')
})
