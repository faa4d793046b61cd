import { describe, expect, test } from 'bun:test'
import { engines, openTestDatabase } from '../../test/harness/database.ts'
import { Bundle } from './bundle.ts'

describe('unawaited writes', () => {
  test('Bundle joins writes to two different tables into one statement with their values in order', () => {
    const bundle = new Bundle()
    expect(bundle.add('UPDATE a SET x = $2 WHERE id = $1', [1, 2])).toBe(true)
    expect(bundle.add('INSERT INTO b (y, z) VALUES ($1, $2)', ['three', null])).toBe(true)
    expect(bundle.take()).toEqual({
      sql: 'WITH part0 AS (UPDATE a SET x = $2 WHERE id = $1) INSERT INTO b (y, z) VALUES ($3, $4)',
      values: [1, 2, 'three', null],
    })
    expect(bundle.take()).toBeUndefined()
  })

  test('Bundle refuses a second write to one table, a statement with RETURNING and one with 65 values', () => {
    const bundle = new Bundle()
    expect(bundle.add('DELETE FROM a WHERE id = $1', [1])).toBe(true)
    expect(bundle.add('INSERT INTO a (id) VALUES ($1)', [1])).toBe(false)
    expect(bundle.add('INSERT INTO b (id) VALUES ($1) RETURNING id', [1])).toBe(false)
    expect(
      bundle.add(
        'INSERT INTO b (id) VALUES ($1)',
        Array.from({ length: 65 }, () => 1),
      ),
    ).toBe(false)
    expect(bundle.take()).toEqual({ sql: 'DELETE FROM a WHERE id = $1', values: [1] })
  })
})

describe.each([...engines])('unawaited writes on %s', (engine) => {
  test('a query sees all unawaited writes before it in the transaction, in order', async () => {
    const opened = await openTestDatabase(engine)
    const { db } = opened
    try {
      await db.transact(async (tx) => {
        tx.send('INSERT INTO counters (name, next) VALUES ($1, $2)', ['one', 1])
        tx.send('INSERT INTO usage_boots (node, boot, last_at) VALUES ($1, $2, $3)', ['n', 'b', 5])
        tx.send('UPDATE counters SET next = next + $2 WHERE name = $1', ['one', 10])
        tx.send('DELETE FROM usage_boots WHERE node = $1', ['n'])
        tx.send('INSERT INTO usage_boots (node, boot, last_at) VALUES ($1, $2, $3)', ['n', 'b', 6])
        expect(await tx.first<{ next: bigint }>('SELECT next FROM counters WHERE name = $1', ['one'])).toEqual({
          next: 11n,
        })
      })
      expect(await db.all<{ last_at: bigint }>('SELECT last_at FROM usage_boots')).toEqual([{ last_at: 6n }])
    } finally {
      await opened.close()
    }
  })

  test('a failed unawaited write rolls back the other writes of its transaction', async () => {
    const opened = await openTestDatabase(engine)
    const { db } = opened
    try {
      const attempt = db.transact(async (tx) => {
        tx.send('INSERT INTO counters (name, next) VALUES ($1, $2)', ['one', 1])
        tx.send(
          'INSERT INTO accounts (customer_id, balance, api_spent, seq, head, last_at) VALUES ($1, $2, 0, 0, $3, 0)',
          ['nobody', -1, new Uint8Array(32)],
        )
      })
      expect(await attempt.catch((error: unknown) => (error as Error).name)).toBe('ConstraintViolation')
      expect(await db.all('SELECT * FROM counters')).toEqual([])
    } finally {
      await opened.close()
    }
  })
})
