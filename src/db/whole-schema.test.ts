import { expect, test } from 'bun:test'
import { engines, openTestDatabase } from '../../test/harness/database.ts'
import { readMigrations } from '../app/shop/database.ts'
import { createSchemaCheck } from './whole-schema.ts'

test.each([...engines])(
  'a schema on %s is whole after all migrations, and not without 1 trigger, index or table',
  async (engine) => {
    const opened = await openTestDatabase(engine)
    try {
      const { db } = opened
      const isWhole = createSchemaCheck(engine, readMigrations)
      expect(await isWhole(db)).toBe(true)
      const drops = [
        `DROP TRIGGER nodes_hop_key_history_update${engine === 'sqlite' ? '' : ' ON nodes'}`,
        'DROP INDEX lost_goods_by_age',
        'DROP TABLE lost_goods',
      ]
      for (const drop of drops) {
        const found = db.transact(async (tx) => {
          await tx.run(drop)
          throw new Tried(await isWhole(tx))
        })
        expect([drop, await found.catch((tried: unknown) => tried instanceof Tried && tried.isWhole)]).toEqual([
          drop,
          false,
        ])
      }
      expect(await isWhole(db)).toBe(true)
    } finally {
      await opened.close()
    }
  },
)

/** Rolls a drop back. */
class Tried extends Error {
  constructor(readonly isWhole: boolean) {
    super('only tried')
  }
}
