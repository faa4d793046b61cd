import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addRecord, type Record, readRecords, toSummary, writeSurvivors } from './record.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-record-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const record = (after: string, outcome: Record['outcome'], by: string): Record => ({
  path: 'src/db/rows.ts',
  line: 3,
  kind: 'comparison turned',
  before: 'a < b',
  after,
  outcome,
  by,
  tookMs: 5,
})
const records = [
  record('a <= b', 'noticed', 'types'),
  record('a >= b', 'noticed', 'src/db/rows.test.ts: rows are read'),
  record('a > b', 'survived', '3 of 9 files of tests'),
  record('a === b', 'survived', '3 of 9 files of tests'),
]
const explained = [
  { path: 'src/db/rows.ts', before: 'a < b', after: 'a > b', effect: 'none', reason: 'They are never equal.' } as const,
]

test('readRecords returns the finished trials of a stopped run, and a later trial replaces an earlier one', () => {
  const file = join(folder, 'coverage', 'seed-1.jsonl')
  expect(readRecords(file).size).toBe(0)
  for (const each of records) addRecord(file, each)
  addRecord(file, record('a > b', 'noticed', 'types'))
  const known = [...readRecords(file).values()]
  expect(known.map(({ after, outcome }) => `${after} ${outcome}`)).toEqual([
    'a <= b noticed',
    'a >= b noticed',
    'a > b noticed',
    'a === b survived',
  ])
})

test('toSummary counts the noticed changes and the survivors with and without a reason', () => {
  const text = 'noticed 2 of 4 (1 by types alone); 2 survived: 1 without effect, 0 explained, 1 open'
  expect(toSummary(records, explained)).toBe(text)
})

test('writeSurvivors lists each survivor with its diff and reason', () => {
  const file = join(folder, 'seed-1.md')
  writeSurvivors(file, records, explained)
  const text = readFileSync(file, 'utf8')
  expect(text).toContain('- a < b\n+ a > b\n```\n\nNo effect: They are never equal.')
  expect(text).toContain('+ a === b\n```\n\nNo reason is known.')
  expect(text).not.toContain('a <= b')
})
