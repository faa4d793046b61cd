import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { HandClock } from '../../../test/harness/clock.ts'
import {
  type Engine,
  engines,
  makeTestDatabase,
  openTestDatabase,
  type TestDatabase,
} from '../../../test/harness/database.ts'
import { failureOf } from '../../../test/harness/failure.ts'
import { sampledOn } from '../../../test/harness/scale.ts'
import { runCommand } from '../../../test/harness/turnpike.ts'
import { addCustomer, allFindingsOf, buy, credit, findingsAfter, wire } from '../../../test/harness/wired.ts'
import { realRuntime } from '../../app/shop/services.ts'
import type { CustomerId, OrderId, TokenId } from '../../core/ids.ts'
import { kopecks } from '../../core/money.ts'
import { openDatabase } from '../../db/open.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import { openAccount, post } from '../ledger/rules.ts'
import { postingsAfter, writePosting } from '../ledger/store.ts'

/** Customers of the healthy shop. `busy` has postings before and after the checkpoints, `idle` only before. */
type Fixture = {
  busy: CustomerId
  idle: CustomerId
  capped: TokenId
  firstOrder: OrderId
  lastOrder: OrderId
  lastSeq: number
}

async function buildHealthyShop(db: Database): Promise<Fixture> {
  const clock = new HandClock()
  const services = wire(db, clock)
  const busy = await addCustomer(services, 100_000n)
  const idle = await addCustomer(services, 50_000n)
  const { token: capped } = await services.customers.issueToken(busy, { name: 'capped', cap: kopecks(50_000n) })
  const { token: open } = await services.customers.issueToken(busy, { name: 'open' })
  const orderOf = async (customer: CustomerId, price: bigint, token: typeof capped | null) => {
    clock.advance(1000)
    const by = { customer, token: token && { id: token.id, cap: token.cap } }
    return (JSON.parse((await buy(services, by, price)).body) as { order: OrderId }).order
  }
  const firstOrder = await orderOf(busy, 1_000n, capped)
  await orderOf(busy, 2_000n, open)
  await orderOf(busy, 0n, open)
  const third = await orderOf(busy, 3_000n, null)
  await orderOf(idle, 4_000n, null)
  await services.orders.refund(third, kopecks(500n), 'part of it')
  for (let made = 0; made < 3; made += 1) {
    clock.advance(120_000)
    if (!(await services.ledgerAudit.makeCheckpoint())) throw new Error('no checkpoint was made')
    await credit(services, busy, 700n)
  }
  clock.advance(120_000)
  const lastOrder = await orderOf(busy, 6_000n, capped)
  await services.orders.refund(lastOrder, kopecks(2_500n), 'part of it')
  const lastSeq = (await services.ledger.history(busy, undefined, 1))[0]?.seq ?? 0
  return { busy, idle, capped: capped.id, firstOrder, lastOrder, lastSeq }
}

/** Drops triggers and constraints, as an attacker with the database's password could. */
async function dropGuards(engine: Engine, tx: Tx): Promise<void> {
  for (const table of ['postings', 'checkpoints']) {
    for (const guard of ['append_only', 'no_delete']) {
      await tx.run(`DROP TRIGGER ${table}_${guard}${engine === 'postgres' ? ` ON ${table}` : ''}`)
    }
  }
  await tx.run(`DROP TRIGGER postings_refunded_within${engine === 'postgres' ? ' ON postings' : ''}`)
}

/** Recomputes an account's numbers, balances and hashes, so that the chain alone looks valid. */
async function forgeChain(tx: Tx, customer: CustomerId): Promise<void> {
  const postings = await postingsAfter(tx, customer, 0, 1000)
  await tx.run('DELETE FROM postings WHERE customer_id = $1', [customer])
  let account = openAccount(customer)
  for (const each of postings) {
    const made = post(account, each, each.at, realRuntime.sha256)
    account = made.account
    writePosting(tx, account, made.posting)
  }
}

type Damage = {
  readonly what: string
  readonly by: (tx: Tx, fixture: Fixture) => Promise<unknown>
  readonly finds: string
}

const damages: readonly Damage[] = [
  {
    what: 'a balance was raised',
    by: (tx, { busy }) => tx.run('UPDATE accounts SET balance = balance + 1 WHERE customer_id = $1', [busy]),
    finds: 'balance: account of',
  },
  {
    what: 'an amount was changed',
    by: (tx, { busy }) => tx.run('UPDATE postings SET amount = amount - 1 WHERE customer_id = $1 AND seq = 2', [busy]),
    finds: 'chain: posting 2 of',
  },
  {
    what: 'the last amount was changed, with all balances to match',
    async by(tx, { busy, lastSeq }) {
      await tx.run(
        'UPDATE postings SET amount = amount + 7, balance_after = balance_after + 7 WHERE customer_id = $1 AND seq = $2',
        [busy, lastSeq],
      )
      await tx.run('UPDATE accounts SET balance = balance + 7, api_spent = api_spent - 7 WHERE customer_id = $1', [
        busy,
      ])
    },
    finds: 'chain: posting',
  },
  {
    what: 'a hash was changed',
    by: (tx, { busy }) =>
      tx.run('UPDATE postings SET hash = $2 WHERE customer_id = $1 AND seq = 3', [busy, new Uint8Array(32)]),
    finds: 'chain: posting 3 of',
  },
  {
    what: 'the note of a posting was changed',
    by: (tx, { busy }) => tx.run(`UPDATE postings SET note = 'gift' WHERE customer_id = $1 AND seq = 2`, [busy]),
    finds: 'chain: posting 2 of',
  },
  {
    what: 'the time of a posting was changed',
    by: (tx, { busy }) => tx.run('UPDATE postings SET at = at - 10000000 WHERE customer_id = $1 AND seq = 4', [busy]),
    finds: 'chain: posting 4 of',
  },
  {
    what: 'a posting in the middle was deleted',
    by: (tx, { busy }) => tx.run('DELETE FROM postings WHERE customer_id = $1 AND seq = 3', [busy]),
    finds: 'chain_gap',
  },
  {
    what: 'the last posting was deleted',
    by: (tx, { busy, lastSeq }) => tx.run('DELETE FROM postings WHERE customer_id = $1 AND seq = $2', [busy, lastSeq]),
    finds: 'chain_head',
  },
  {
    what: 'the first posting was deleted',
    by: (tx, { busy }) => tx.run('DELETE FROM postings WHERE customer_id = $1 AND seq = 1', [busy]),
    finds: 'chain: posting 2 of',
  },
  {
    what: 'two postings were swapped',
    async by(tx, { busy }) {
      await tx.run('UPDATE postings SET seq = 1000 WHERE customer_id = $1 AND seq = 2', [busy])
      await tx.run('UPDATE postings SET seq = 2 WHERE customer_id = $1 AND seq = 3', [busy])
      await tx.run('UPDATE postings SET seq = 3 WHERE customer_id = $1 AND seq = 1000', [busy])
    },
    finds: 'chain: posting 2 of',
  },
  {
    what: 'a posting was moved to another customer',
    by: (tx, { busy, idle, lastSeq }) =>
      tx.run('UPDATE postings SET customer_id = $2 WHERE customer_id = $1 AND seq = $3', [busy, idle, lastSeq]),
    finds: 'chain: posting',
  },
  {
    what: 'an account was deleted with all its postings and orders',
    async by(tx, { idle }) {
      await tx.run('DELETE FROM orders WHERE customer_id = $1', [idle])
      await tx.run('DELETE FROM postings WHERE customer_id = $1', [idle])
      await tx.run('DELETE FROM accounts WHERE customer_id = $1', [idle])
    },
    finds: 'checkpoint: checkpoint 1',
  },
  {
    what: 'an account was deleted without its postings',
    by: (tx, { idle }) => tx.run('DELETE FROM accounts WHERE customer_id = $1', [idle]),
    finds: 'chain: postings:',
  },
  {
    what: 'an old posting was changed and every later hash recomputed',
    async by(tx, { busy }) {
      await tx.run(`UPDATE postings SET note = 'gift' WHERE customer_id = $1 AND seq = 2`, [busy])
      await forgeChain(tx, busy)
    },
    finds: 'checkpoint: checkpoint 1',
  },
  {
    what: 'the API spending of an account was changed',
    by: (tx, { busy }) => tx.run('UPDATE accounts SET api_spent = api_spent + 1 WHERE customer_id = $1', [busy]),
    finds: 'api_spent: account of',
  },
  {
    what: 'the spending of a capped token was changed',
    by: (tx, { capped }) => tx.run('UPDATE token_spending SET spent = spent - 1 WHERE token_id = $1', [capped]),
    finds: 'cap: token',
  },
  {
    what: 'the spending of a capped token was deleted',
    by: (tx, { capped }) => tx.run('DELETE FROM token_spending WHERE token_id = $1', [capped]),
    finds: 'cap: token',
  },
  {
    what: 'a token has spent more than its cap',
    by: (tx, { capped }) => tx.run('UPDATE tokens SET cap_kopecks = 1 WHERE id = $1', [capped]),
    finds: 'token_over_cap',
  },
  {
    what: "an order's price was changed",
    by: (tx, { firstOrder }) => tx.run('UPDATE orders SET price = price + 1 WHERE id = $1', [firstOrder]),
    finds: 'order_amount',
  },
  {
    what: 'an order was deleted',
    by: (tx, { firstOrder }) => tx.run('DELETE FROM orders WHERE id = $1', [firstOrder]),
    finds: 'charge_without_order',
  },
  {
    what: 'an order was added without a charge',
    by: (tx, { busy }) =>
      tx.run(
        `INSERT INTO orders (id, customer_id, product, action, price, charge_seq, input, calculation, created_at)
         VALUES ('ord_99999999999999999999999999', $1, 'things', 'buy', 900, 900, '{}', '{}', 1)`,
        [busy],
      ),
    finds: 'order_charge_missing',
  },
  {
    what: 'an order was added that shares the charge of another',
    by: (tx, { busy }) =>
      tx.run(
        `INSERT INTO orders (id, customer_id, product, action, price, charge_seq, input, calculation, created_at)
         VALUES ('ord_99999999999999999999999999', $1, 'things', 'buy', 1000, 2, '{}', '{}', 1)`,
        [busy],
      ),
    finds: 'order_charge_other',
  },
  {
    what: 'an order belongs to an unknown customer',
    by: (tx, { firstOrder }) =>
      tx.run(`UPDATE orders SET customer_id = 'cus_00000000000000000000000000' WHERE id = $1`, [firstOrder]),
    finds: 'order_charge_missing',
  },
  {
    what: 'an order was moved to another product',
    by: (tx, { firstOrder }) => tx.run(`UPDATE orders SET product = 'others' WHERE id = $1`, [firstOrder]),
    finds: 'order_house',
  },
  {
    what: 'partial refunds exceed their charge, with a forged chain',
    async by(tx, { busy, lastSeq }) {
      await tx.run(
        `INSERT INTO postings SELECT customer_id, seq + 1, kind, house, amount + 1001, balance_after, order_id, token_id,
           refund_of, note, at, hash, key, reference FROM postings WHERE customer_id = $1 AND seq = $2`,
        [busy, lastSeq],
      )
      await forgeChain(tx, busy)
    },
    finds: 'refund_too_large',
  },
  {
    what: 'a refund is larger than its charge, with a forged chain',
    async by(tx, { busy, lastSeq }) {
      await tx.run('UPDATE postings SET amount = 6001 WHERE customer_id = $1 AND seq = $2', [busy, lastSeq])
      await forgeChain(tx, busy)
    },
    finds: 'refund_too_large',
  },
  {
    what: 'a refund refers to no charge, with a forged chain',
    async by(tx, { busy, lastSeq }) {
      await tx.run('UPDATE postings SET refund_of = 1 WHERE customer_id = $1 AND seq = $2', [busy, lastSeq])
      await forgeChain(tx, busy)
    },
    finds: 'refund_without_charge',
  },
  {
    what: 'a checkpoint was changed',
    by: (tx) => tx.run('UPDATE checkpoints SET balances = balances + 1 WHERE number = 2'),
    finds: 'checkpoint: checkpoint 2',
  },
  {
    what: "a checkpoint's digest was changed",
    by: (tx) => tx.run('UPDATE checkpoints SET digest = $1 WHERE number = 3', [new Uint8Array(32)]),
    finds: 'checkpoint: checkpoint 3',
  },
  {
    what: 'the first checkpoint was deleted',
    by: (tx) => tx.run('DELETE FROM checkpoints WHERE number = 1'),
    finds: 'checkpoint 2: chain_gap',
  },
  {
    what: 'a checkpoint in the middle was deleted',
    by: (tx) => tx.run('DELETE FROM checkpoints WHERE number = 2'),
    finds: 'checkpoint 3: chain_gap',
  },
]

describe.each([...engines])('verify on %s', (engine) => {
  let healthy: TestDatabase
  let fixture: Fixture
  beforeAll(async () => {
    const { db, testDatabase } = await openTestDatabase(engine)
    fixture = await buildHealthyShop(db)
    await db.close()
    healthy = testDatabase
  })
  afterAll(() => healthy.remove())

  /** Runs the work on a copy of the database, which is closed and removed afterwards. */
  async function onCopy<Result>(work: (db: Database, testDatabase: TestDatabase) => Promise<Result>): Promise<Result> {
    const copy = await makeTestDatabase(engine, healthy)
    const db = openDatabase(copy.address)
    try {
      return await work(db, copy)
    } finally {
      await db.close()
      await copy.remove()
    }
  }
  const verifyAs = (testDatabase: TestDatabase, ...more: string[]) =>
    runCommand(
      [
        'verify',
        '--data',
        testDatabase.folder,
        ...(engine === 'postgres' ? ['--database-url', testDatabase.address] : []),
        ...more,
      ],
      { TURNPIKE_SECRET_KEY: '00'.repeat(32) },
    )

  test('verify of a healthy shop finds nothing, prints the numbers of checked rows, and exits with 0', async () => {
    await onCopy(async (db, testDatabase) => {
      expect(await allFindingsOf(wire(db))).toEqual([])
      const report = await verifyAs(testDatabase)
      expect(report).toMatchObject({ exit: 0, err: '' })
      expect(report.out).toMatch(/^No problem found\. Checked: 2 accounts, 12 postings, 6 orders, 3 checkpoints/)
      const json = await verifyAs(testDatabase, '--json')
      expect(json.exit).toBe(0)
      expect(JSON.parse(json.out)).toMatchObject({ ok: true, findings: [], found: 0, covered: { postings: 12 } })
    })
  })

  test('verify of a damaged shop prints the finding and exits with 1', async () => {
    await onCopy(async (db, testDatabase) => {
      await db.transact((tx) =>
        tx.run('UPDATE accounts SET balance = balance + 1 WHERE customer_id = $1', [fixture.busy]),
      )
      const report = await verifyAs(testDatabase)
      expect(report.exit).toBe(1)
      expect(report.out).toContain(`WRONG  balance: account of ${fixture.busy}`)
      const json = await verifyAs(testDatabase, '--json')
      expect(json.exit).toBe(1)
      expect(JSON.parse(json.out)).toMatchObject({ ok: false, found: 2 })
    })
  })

  test('verify reports an order with unreadable JSON as a finding and exits with 1', async () => {
    await onCopy(async (db, testDatabase) => {
      await db.transact((tx) => tx.run(`UPDATE orders SET input = 'not JSON' WHERE id = $1`, [fixture.firstOrder]))
      const { exit, out } = await verifyAs(testDatabase)
      expect(exit).toBe(1)
      expect(out).toContain(`WRONG  order: order ${fixture.firstOrder}: its stored input or calculation cannot be read`)
      expect(out).toContain('TO DO  compare the row with a backup')
    })
  })

  describe('verify after manual changes of rows', () => {
    let copy: TestDatabase
    let db: Database
    beforeAll(async () => {
      copy = await makeTestDatabase(engine, healthy)
      db = openDatabase(copy.address)
      expect(await allFindingsOf(wire(db))).toEqual([])
    })
    afterAll(async () => {
      await db.close()
      await copy.remove()
    })

    test.each(sampledOn(engine, damages))('verify reports that $what', async ({ by, finds }) => {
      const findings = await findingsAfter(db, async (tx) => {
        await dropGuards(engine, tx)
        await by(tx, fixture)
      })
      expect(findings.map((each) => `${each.promise}: ${each.where}: ${each.reason}`).join('\n')).toContain(finds)
    })

    test('verify finds nothing after every change is rolled back', async () => {
      expect(await allFindingsOf(wire(db))).toEqual([])
    })
  })

  test('the database refuses to change or delete postings and checkpoints', async () => {
    await onCopy(async (db) => {
      for (const statement of [
        `UPDATE postings SET note = 'gift'`,
        'DELETE FROM postings',
        'UPDATE checkpoints SET accounts = 0',
        'DELETE FROM checkpoints',
        ...(engine === 'postgres' ? ['TRUNCATE postings', 'TRUNCATE checkpoints CASCADE'] : []),
      ]) {
        expect(await failureOf(db.transact((tx) => tx.run(statement)))).toMatchObject({ name: 'ConstraintViolation' })
      }
      expect(await allFindingsOf(wire(db))).toEqual([])
    })
  })
})
