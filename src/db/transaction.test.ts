import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { engines, makeTestDatabase, type TestDatabase } from '../../test/harness/database.ts'
import { failureOf } from '../../test/harness/failure.ts'
import { openDatabase } from './open.ts'
import { ConstraintViolation, type Database, type Tx, urgently } from './transaction.ts'

describe.each([...engines])('transactions on %s', (engine) => {
  let testDatabase: TestDatabase
  let db: Database
  let other: Database
  let last = 0
  const fresh = (): string => `row-${(last += 1)}`
  const add = (tx: Tx, id: string, amount: bigint | number = 1n) =>
    tx.run('INSERT INTO things (id, amount) VALUES ($1, $2)', [id, amount])
  const find = (id: string, from: Database = db) =>
    from.first<{ amount: bigint }>('SELECT amount FROM things WHERE id = $1', [id])

  beforeAll(async () => {
    testDatabase = await makeTestDatabase(engine)
    db = openDatabase(testDatabase.address)
    other = openDatabase(testDatabase.address)
    await db.transact((tx) =>
      tx.run(
        `CREATE TABLE things (id TEXT PRIMARY KEY, amount BIGINT NOT NULL CHECK (amount >= 0), bytes ${engine === 'sqlite' ? 'BLOB' : 'BYTEA'}, note TEXT)`,
      ),
    )
  })
  afterAll(async () => {
    await Promise.all([db.close(), other.close()])
    await testDatabase.remove()
  })

  test('an urgent transaction runs before all waiting ones except earlier urgent ones', async () => {
    const one = openDatabase(testDatabase.address, 1)
    const order: string[] = []
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const first = one.transact(async (tx) => {
      await tx.all('SELECT 1')
      begin()
      await held
    })
    await begun
    const note = (name: string) => one.transact(async () => void order.push(name))
    const others = [note('a'), note('b'), urgently(() => note('urgent 1')), note('c'), urgently(() => note('urgent 2'))]
    release()
    await Promise.all([first, ...others])
    expect(order).toEqual(['urgent 1', 'urgent 2', 'a', 'b', 'c'])
    await one.close()
  })

  test('every reader sees a transaction’s rows once transact() has returned', async () => {
    const id = fresh()
    expect(await db.transact(async (tx) => (await add(tx, id, 7n)) + 1)).toBe(2)
    expect(await find(id)).toEqual({ amount: 7n })
    expect(await find(id, other)).toEqual({ amount: 7n })
  })

  test('an error rolls its transaction back, and transact() throws that error', async () => {
    const [a, b] = [fresh(), fresh()]
    const error = new Error('changed my mind')
    const outcome = db.transact(async (tx) => {
      await add(tx, a)
      tx.send('INSERT INTO things (id, amount) VALUES ($1, 2)', [b])
      throw error
    })
    expect(await failureOf(outcome)).toBe(error)
    expect([await find(a), await find(b)]).toEqual([undefined, undefined])
  })

  test('30 failing transactions among 40 concurrent ones do not affect the other 10', async () => {
    const ids = Array.from({ length: 40 }, fresh)
    const outcomes = await Promise.allSettled(
      ids.map((id, index) =>
        db.transact(async (tx) => {
          await add(tx, id)
          if (index % 4 === 1) throw new Error('no')
          if (index % 4 === 2) await add(tx, id)
          if (index % 4 === 3) tx.send('INSERT INTO things (id, amount) VALUES ($1, -1)', [`${id}-bad`])
          return id
        }),
      ),
    )
    const kept = await Promise.all(ids.map((id) => find(id)))
    for (const [index, outcome] of outcomes.entries()) {
      expect(outcome.status).toBe(index % 4 === 0 ? 'fulfilled' : 'rejected')
      expect(kept[index]).toEqual(index % 4 === 0 ? { amount: 1n } : undefined)
    }
  })

  test('a read outside a transaction never sees uncommitted rows, even in the same process', async () => {
    const id = fresh()
    const written = Promise.withResolvers<void>()
    const looked = Promise.withResolvers<void>()
    const done = db.transact(async (tx) => {
      await add(tx, id)
      expect(await tx.first('SELECT id FROM things WHERE id = $1', [id])).toEqual({ id })
      written.resolve()
      await looked.promise
    })
    await written.promise
    expect([await find(id), await find(id, other)]).toEqual([undefined, undefined])
    looked.resolve()
    await done
    expect(await find(id)).toEqual({ amount: 1n })
  })

  test('a failed unawaited statement rolls its transaction back', async () => {
    const [a, b] = [fresh(), fresh()]
    await db.transact((tx) => add(tx, a))
    const outcome = db.transact(async (tx) => {
      await add(tx, b)
      tx.send('INSERT INTO things (id, amount) VALUES ($1, 1)', [a])
    })
    expect(await failureOf(outcome)).toBeInstanceOf(ConstraintViolation)
    expect(await find(b)).toBeUndefined()
  })

  test('a failed statement rolls its transaction back even if the callback catches the error', async () => {
    const [a, b] = [fresh(), fresh()]
    await db.transact((tx) => add(tx, a))
    for (const fail of [
      (tx: Tx) => failureOf(add(tx, a)),
      async (tx: Tx) => {
        try {
          tx.send('INSERT INTO things (id, amount) VALUES ($1, 1)', [a])
        } catch {}
      },
    ]) {
      const outcome = db.transact(async (tx) => {
        await add(tx, b)
        await fail(tx)
        return 'carried on'
      })
      expect(await failureOf(outcome)).toBeInstanceOf(ConstraintViolation)
      expect(await find(b)).toBeUndefined()
    }
  })

  test('transact() throws the error of the first failed statement, not that of a later one', async () => {
    const id = fresh()
    await db.transact((tx) => add(tx, id))
    const outcome = db.transact(async (tx) => {
      tx.send('INSERT INTO things (id, amount) VALUES ($1, 1)', [id])
      await tx.first('SELECT 1 AS one')
      return 'carried on'
    })
    expect(await failureOf(outcome)).toMatchObject({ name: 'ConstraintViolation', kind: 'unique' })
  })

  test('a finished transaction refuses statements', async () => {
    let kept: Tx | undefined
    await db.transact(async (tx) => {
      kept = tx
    })
    const id = fresh()
    expect(() => kept?.send('INSERT INTO things (id, amount) VALUES ($1, 1)', [id])).toThrow('this transaction is over')
    expect((await failureOf(kept?.run('INSERT INTO things (id, amount) VALUES ($1, 1)', [id]))).message).toContain(
      'is over',
    )
    expect((await failureOf(kept?.first('SELECT 1 AS one'))).message).toContain('is over')
    expect((await failureOf(kept?.all('SELECT 1 AS one'))).message).toContain('is over')
    expect(await find(id)).toBeUndefined()
  })

  test('a violated constraint throws ConstraintViolation with its kind, and a missing table does not', async () => {
    const id = fresh()
    await db.transact((tx) => add(tx, id))
    const kindOf = (sql: string, values: (string | bigint | null)[]) =>
      db
        .transact((tx) => tx.run(sql, values))
        .then(
          () => 'none',
          (error: unknown) => (error instanceof ConstraintViolation ? error.kind : String(error)),
        )
    expect(await kindOf('INSERT INTO things (id, amount) VALUES ($1, 1)', [id])).toBe('unique')
    expect(await kindOf('INSERT INTO things (id, amount) VALUES ($1, -1)', [fresh()])).toBe('check')
    expect(await kindOf('INSERT INTO things (id, amount) VALUES ($1, NULL)', [fresh()])).toBe('other')
    expect(await kindOf('INSERT INTO nowhere (id) VALUES ($1)', [id])).not.toBe('other')
  })

  test('the database returns integers up to 2^63 - 1, bytes, texts and nulls as they were written', async () => {
    const text = fc.string({ unit: 'grapheme' }).filter((each) => !each.includes('\0'))
    await fc.assert(
      fc.asyncProperty(
        fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
        fc.option(fc.uint8Array({ maxLength: 300 })),
        fc.option(text),
        async (amount, bytes, note) => {
          const id = fresh()
          const values = [id, amount, bytes, note]
          await db.transact((tx) =>
            tx.run('INSERT INTO things (id, amount, bytes, note) VALUES ($1, $2, $3, $4)', values),
          )
          const row = await db.first<{ amount: bigint; bytes: Uint8Array | null; note: string | null }>(
            'SELECT amount, bytes, note FROM things WHERE id = $1',
            [id],
          )
          expect(row?.amount).toBe(amount)
          expect(row?.bytes && [...row.bytes]).toEqual(bytes && [...bytes])
          expect(row?.note).toBe(note as string)
        },
      ),
      {
        numRuns: 60,
        examples: [
          [2n ** 53n + 1n, null, null],
          [2n ** 63n - 1n, new Uint8Array(), ''],
        ],
      },
    )
  })

  test('the database throws TypeError for a fractional, infinite or unsafe number', async () => {
    for (const value of [0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
      expect(await failureOf(db.transact((tx) => add(tx, fresh(), value)))).toBeInstanceOf(TypeError)
      expect(await failureOf(db.all('SELECT id FROM things WHERE amount = $1', [value]))).toBeInstanceOf(TypeError)
    }
  })

  test('a snapshot does not see later writes', async () => {
    const id = fresh()
    await db.transact((tx) => add(tx, id, 0n))
    const seen = await db.snapshot(async (reader) => {
      const read = async () =>
        (await reader.first<{ amount: bigint }>('SELECT amount FROM things WHERE id = $1', [id]))?.amount
      const amounts = [await read()]
      for (const source of [db, other, db]) {
        await source.transact((tx) => tx.run('UPDATE things SET amount = amount + 1 WHERE id = $1', [id]))
        amounts.push(await read())
      }
      return amounts
    })
    expect(seen).toEqual([0n, 0n, 0n, 0n])
    expect(await find(id)).toEqual({ amount: 3n })
  })

  test('a failed snapshot does not affect the next one', async () => {
    expect(await failureOf(db.snapshot((reader) => reader.all('SELECT nonsense FROM things')))).toBeInstanceOf(Error)
    expect(await db.snapshot((reader) => reader.first('SELECT 1 AS one'))).toBeDefined()
  })

  test('100 concurrent increments of one row over two connection pools lose no update', async () => {
    const id = fresh()
    await db.transact((tx) => add(tx, id, 0n))
    const bump = (source: Database) =>
      source.transact(async (tx) => {
        const row = await tx.first<{ amount: bigint }>('SELECT amount FROM things WHERE id = $1 FOR UPDATE', [id])
        await tx.run('UPDATE things SET amount = $2 WHERE id = $1', [id, (row?.amount ?? 0n) + 1n])
      })
    await Promise.all(Array.from({ length: 100 }, (_, index) => bump(index % 2 === 0 ? db : other)))
    expect(await find(id)).toEqual({ amount: 100n })
  })

  test('run() returns the number of changed rows', async () => {
    const [a, b] = [fresh(), fresh()]
    const counts = await db.transact(async (tx) => {
      await add(tx, a, 5n)
      await add(tx, b, 5n)
      return [
        await tx.run('UPDATE things SET amount = 6 WHERE id IN ($1, $2)', [a, b]),
        await tx.run('DELETE FROM things WHERE id = $1', [a]),
        await tx.run('DELETE FROM things WHERE id = $1', [a]),
      ]
    })
    expect(counts).toEqual([2, 1, 0])
  })
})
