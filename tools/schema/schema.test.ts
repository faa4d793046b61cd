import { expect, test } from 'bun:test'
import { readMigrations } from '../../src/app/shop/database.ts'
import { checksSql } from './checks.ts'
import { historySql } from './history.ts'
import { makeMigrations } from './make.ts'

test('the generated migrations equal the output of "npm run schema"', async () => {
  const made = await makeMigrations()
  expect(made.length).toBeGreaterThan(0)
  for (const { file, text } of made) expect([file, await Bun.file(file).text()]).toEqual([file, text])
})

test('the migrations of the baseline have at most 2,000 lines', () => {
  const baseline = readMigrations().slice(0, 2)
  expect(baseline.map((each) => each.name)).toEqual(['0001-baseline', '0002-history-and-checks'])
  expect(baseline.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)).toBeLessThanOrEqual(2000)
})

test('historySql of a later migration writes its own view, without rows that have their initial values', () => {
  const list = [{ of: 'things, state', key: 'id', columns: 'state ?secret', initial: "'new' NULL", on: 'update' }]
  const text = historySql('row_contents_things', list).join('\n')
  expect(text).toContain('CREATE VIEW row_contents_things (of_table, row_key, kept, content) AS')
  expect(text).toContain("FROM things AS each WHERE state IS NOT 'new' OR secret IS NOT NULL;")
  expect(text).toContain('CREATE TRIGGER things_state_history_update AFTER UPDATE OF state, secret ON things WHEN')
  expect(text).toContain(`note_row('things, state', 'kept', '{id}', '{state,"?secret"}', '''new'',NULL');`)
  expect(text).not.toContain('AFTER INSERT')
})

test('checksSql refuses a baseline without the CHECKs of the table accounts', () => {
  expect(() => checksSql('CREATE TABLE accounts (\n  id TEXT\n);\n')).toThrow('no CHECK of accounts')
})
