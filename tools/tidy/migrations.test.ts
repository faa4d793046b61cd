import { describe, expect, test } from 'bun:test'
import { checksumOf } from '../../src/db/migrate.ts'
import { checkMigrations, releasedFile } from './migrations.ts'
import { rulesBroken } from './planted.ts'

const broken = (text: string, path = 'migrations/0003-next.sql') => rulesBroken(checkMigrations, path, text)

const narrowing = [
  'DROP TABLE orders;',
  'ALTER TABLE orders DROP COLUMN note;',
  'ALTER TABLE orders RENAME COLUMN note TO remark;',
  'ALTER TABLE orders ALTER COLUMN note SET NOT NULL;',
  'ALTER TABLE orders ADD CONSTRAINT short CHECK (note <> 1);',
  'ALTER TABLE orders ADD COLUMN kind TEXT NOT NULL;',
  'CREATE UNIQUE INDEX one_each ON orders (note);',
  'DELETE FROM orders;',
]

describe('checkMigrations', () => {
  test('checkMigrations refuses a change or deletion of a released migration', () => {
    const path = 'migrations/0001-start.sql'
    const released = JSON.stringify({ '0001-start': checksumOf('SELECT 1;\n') })
    const rules = (...files: [string, string][]) => checkMigrations(new Map(files)).map((each) => each.rule)
    expect(rules([path, 'SELECT 1;\n'], [releasedFile, released])).toEqual([])
    expect(rules([path, 'SELECT 2;\n'], [releasedFile, released])).toEqual(['migration-released'])
    expect(rules([releasedFile, released])).toEqual(['migration-released'])
    expect(rules([path, 'SELECT 2;\n'], [releasedFile, '{}'])).toEqual([])
  })

  test('checkMigrations refuses a narrowing statement without a `-- contracts:` comment', () => {
    for (const statement of narrowing) {
      expect({ statement, broken: broken(`${statement}\n`) }).toEqual({ statement, broken: ['migrations'] })
      expect(broken(`-- contracts: 0.4 uses it no more\n${statement}\n`)).toEqual([])
      expect(broken(`${statement}\n`, 'migrations/0002-before.sql')).toEqual([])
      expect(broken(`-- @sqlite\n${statement}\n-- @both\n`)).toEqual([])
    }
  })

  test('checkMigrations allows replaced constraints, and nothing else, with a `-- rewords:` comment', () => {
    const reworded = 'ALTER TABLE orders ADD CONSTRAINT whole CHECK (is_order(price)), DROP CONSTRAINT orders_check;'
    expect(broken(`${reworded}\n`)).toEqual(['migrations'])
    expect(broken(`-- rewords: the same promises\n${reworded}\n`)).toEqual([])
    expect(broken('-- rewords: the same promises\nALTER TABLE orders DROP COLUMN note;\n')).toEqual(['migrations'])
  })

  test('checkMigrations allows new tables, columns, indexes and views', () => {
    const adding = [
      'CREATE TABLE things (id TEXT PRIMARY KEY, kind TEXT NOT NULL);',
      'CREATE UNIQUE INDEX things_by_kind ON things (kind);',
      'ALTER TABLE orders ADD COLUMN kind TEXT;',
      "ALTER TABLE orders ADD COLUMN kind TEXT NOT NULL DEFAULT '';",
      'ALTER TABLE orders ADD COLUMN ended_at BIGINT CHECK (ended_at IS NULL OR begun_at IS NOT NULL);',
      'CREATE INDEX orders_by_kind ON orders (kind);',
      'DROP TRIGGER orders_written ON orders;',
      'CREATE VIEW kinds AS SELECT kind FROM orders;',
      'UPDATE orders SET kind = note;',
    ]
    expect(broken(`${adding.join('\n')}\n`)).toEqual([])
  })
})
