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

/** A project with one rule and a type checker that always passes. */
function makeWorkspace(tests: { readonly [name: string]: string }) {
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
  if (!mutant) throw new Error('the change is missing')
  const workspace = makeWorkspace(tests)
  const outcome = await tryMutant(
    workspace,
    mutant,
    Object.keys(tests).map((name) => ({ tests: [name] })),
    60_000,
  )
  expect(readFileSync(join(workspace.root, path), 'utf8')).toBe(source)
  return outcome
}

const border = "test('a hundred is not dear', () => expect(isDear(100)).toBe(false))"
const far = "test('a thousand is dear', () => expect(isDear(1000)).toBe(true))"

test('tryMutant reports the test that fails for a changed boundary', async () => {
  expect(await outcomeOf({ 'a.test.ts': far, 'b.test.ts': border })).toMatchObject({
    outcome: 'noticed',
    by: 'b.test.ts: a hundred is not dear',
  })
})

test('tryMutant reports a survivor when all tests pass', async () => {
  expect(await outcomeOf({ 'a.test.ts': far })).toMatchObject({ outcome: 'survived', by: '1 of 1 files of tests' })
})

test('tryMutant accepts a failure that needs earlier tests of the same file', async () => {
  const both = [
    'let bought = 0',
    "test('things are bought', () => { bought += 100 })",
    "test('what was bought is not dear', () => expect(isDear(bought)).toBe(false))",
  ]
  expect((await outcomeOf({ 'a.test.ts': both.join('\n') })).outcome).toBe('noticed')
})

test('tryMutant repeats a test within its file when it cannot pass alone', async () => {
  const both = [
    'let bought = 1000',
    "test('less is bought', () => { bought = 100 })",
    "test('what was bought is not dear', () => expect(isDear(bought)).toBe(false))",
  ]
  expect((await outcomeOf({ 'a.test.ts': both.join('\n') })).outcome).toBe('noticed')
})

test('tryMutant ignores a test that also fails without the change', async () => {
  const broken = "test('it never passes (here)', () => expect(isDear(5)).toBe(true))"
  expect((await outcomeOf({ 'a.test.ts': broken })).outcome).toBe('survived')
})

test('tryMutant ignores a test that fails once and passes when repeated', async () => {
  const flaky = [
    "import { existsSync, writeFileSync } from 'node:fs'",
    "const seen = new URL('./seen', import.meta.url).pathname",
    "test('it is late the first time', () => {",
    '  const isAgain = existsSync(seen)',
    "  writeFileSync(seen, '')",
    '  expect(isAgain && isDear(1000)).toBe(true)',
    '})',
  ]
  expect((await outcomeOf({ 'a.test.ts': flaky.join('\n') })).outcome).toBe('survived')
})

test('findFailure reports a file that does not load, and unknown for a run that was cut off', () => {
  const output = 'a.test.ts:\nerror: cannot find it\n'
  expect(findFailure({ exitCode: 1, output, isCut: false })).toEqual({ file: 'a.test.ts', test: undefined })
  expect(findFailure({ exitCode: 143, output, isCut: true })).toBe('unknown')
})
