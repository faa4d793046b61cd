import { Database as Connection } from 'bun:sqlite'
import { randomBytes, sha256 } from '../../src/adapters/crypto.ts'
import { makeId, type OrderId, type TokenId } from '../../src/core/ids.ts'
import { type Kopecks, kopecks, negate } from '../../src/core/money.ts'
import { inserterOn, insertInto } from '../../src/db/copy/fill.ts'
import type { CopiedRow, Insert, Table } from '../../src/db/copy/table.ts'
import { openDatabase } from '../../src/db/open.ts'
import { type Account, type Movement, openAccount, type Posting, post } from '../../src/domains/ledger/rules.ts'
import catalogue from '../../src/domains/pricing/catalogue.yaml'
import { personNumber } from '../people.ts'
import { thing } from '../reference-charge.ts'
import { type BenchDatabase, runSql, withServices } from '../stage.ts'
import { restock } from '../stocked.ts'

/** A shop of a size. */
export type GrownSize = { readonly customers: number; readonly postings: number; readonly addresses: number }

const rowsAtOnce = 5_000
/** The postings of a year, the newest an hour ago: checkpoints cover them all. */
const yearMs = 365 * 86_400_000
const newestAgoMs = 3_600_000
/** So many resellers make half of all purchases. */
const resellers = 1_000
/** One charge in so many is refunded. */
const refundEvery = 50
const deposit = kopecks(10_000_000_000n)

const columns = (...named: readonly (readonly [string, 'TEXT' | 'BIGINT' | 'BYTEA'])[]): Table['columns'] =>
  named.map(([name, type]) => ({ name, type }))

const tables = {
  customers: { name: 'customers', columns: columns(['id', 'TEXT'], ['name', 'TEXT'], ['created_at', 'BIGINT']) },
  tokens: {
    name: 'tokens',
    columns: columns(
      ['id', 'TEXT'],
      ['customer_id', 'TEXT'],
      ['digest', 'BYTEA'],
      ['hint', 'TEXT'],
      ['name', 'TEXT'],
      ['scopes', 'TEXT'],
      ['allowed_from', 'TEXT'],
      ['created_at', 'BIGINT'],
    ),
  },
  orders: {
    name: 'orders',
    columns: columns(
      ['id', 'TEXT'],
      ['customer_id', 'TEXT'],
      ['product', 'TEXT'],
      ['action', 'TEXT'],
      ['price', 'BIGINT'],
      ['charge_seq', 'BIGINT'],
      ['token_id', 'TEXT'],
      ['input', 'TEXT'],
      ['calculation', 'TEXT'],
      ['created_at', 'BIGINT'],
    ),
  },
  postings: {
    name: 'postings',
    columns: columns(
      ['customer_id', 'TEXT'],
      ['seq', 'BIGINT'],
      ['kind', 'TEXT'],
      ['house', 'TEXT'],
      ['amount', 'BIGINT'],
      ['balance_after', 'BIGINT'],
      ['order_id', 'TEXT'],
      ['token_id', 'TEXT'],
      ['refund_of', 'BIGINT'],
      ['note', 'TEXT'],
      ['at', 'BIGINT'],
      ['hash', 'BYTEA'],
    ),
  },
  accounts: {
    name: 'accounts',
    columns: columns(
      ['customer_id', 'TEXT'],
      ['balance', 'BIGINT'],
      ['api_spent', 'BIGINT'],
      ['seq', 'BIGINT'],
      ['head', 'BYTEA'],
      ['last_at', 'BIGINT'],
    ),
  },
} satisfies Record<string, Table>

/**
 * Fills an empty database with a shop of this size, with the rows that the shop itself would have written: chains,
 * balances and orders are right, constraints and triggers hold, and `verify` finds nothing.
 */
export async function build(database: BenchDatabase, size: GrownSize, say: (text: string) => void): Promise<void> {
  const startedMs = performance.now()
  const took = (what: string): void => say(`  ${what} after ${Math.round((performance.now() - startedMs) / 1000)} s`)
  await withServices(database, async ({ db, customers, pricing }) => {
    await db.transact(async (tx) => {
      await customers.decideMode(tx, 'production')
      await pricing.apply(tx, catalogue)
    })
  })
  const sink = await openSink(database)
  try {
    const rows = new Buffered(sink.insert)
    const accounts = await addCustomers(rows, size.customers)
    took(`${size.customers.toLocaleString('en-US')} customers`)
    await addPostings(rows, accounts, size.postings, (done) => took(`${done.toLocaleString('en-US')} postings`))
    for (const account of accounts) await rows.add(tables.accounts, toAccountRow(account))
    await rows.flush()
  } finally {
    await sink.close()
  }
  took('accounts')
  if (database.engine === 'postgres') await runSql(database.address, ['VACUUM (ANALYZE)', 'CHECKPOINT'])
  await withServices(database, async (services) => {
    await restock(services, 0, size.addresses)
    took(`${size.addresses.toLocaleString('en-US')} addresses`)
    await services.ledgerAudit.makeCheckpoint()
  })
  took('a checkpoint')
  if (database.engine === 'postgres') await runSql(database.address, ['VACUUM (ANALYZE)', 'CHECKPOINT'])
}

type Sink = { readonly insert: Insert; close(): Promise<void> }

/** Triggers stay on, so that histories are written. SQLite does not wait for the disk. */
async function openSink({ engine, address }: BenchDatabase): Promise<Sink> {
  if (engine === 'postgres') {
    const db = openDatabase(address)
    return {
      insert: (table, rows) => db.transact((tx) => insertInto(tx, table, rows), 'unhurried'),
      close: () => db.close(),
    }
  }
  const connection = new Connection(address, { readwrite: true, safeIntegers: true, strict: true })
  connection.run('PRAGMA synchronous = OFF')
  connection.run('PRAGMA cache_size = -256000')
  connection.run('PRAGMA wal_autocheckpoint = 20000')
  const insert = inserterOn(connection)
  return {
    async insert(table, rows) {
      connection.run('BEGIN IMMEDIATE')
      await insert(table, rows)
      connection.run('COMMIT')
    },
    async close() {
      connection.run('PRAGMA wal_checkpoint(TRUNCATE)')
      connection.close()
    },
  }
}

/** Rows by table; a table with enough of them is written, after the tables whose rows came first. */
class Buffered {
  private readonly held = new Map<Table, CopiedRow[]>()

  constructor(private readonly insert: Insert) {}

  async add(table: Table, row: CopiedRow): Promise<void> {
    const rows = this.held.get(table) ?? []
    this.held.set(table, rows)
    rows.push(row)
    if (rows.length >= rowsAtOnce) await this.flush()
  }

  async flush(): Promise<void> {
    for (const [table, rows] of this.held) {
      if (rows.length > 0) await this.insert(table, rows.splice(0))
    }
  }
}

async function addCustomers(rows: Buffered, count: number): Promise<Account[]> {
  const accounts: Account[] = []
  const at = BigInt(Date.now() - yearMs - newestAgoMs)
  for (let number = 1; number <= count; number += 1) {
    const { customer, token } = personNumber(number)
    const digest = new TextEncoder().encode(token.id)
    await rows.add(tables.customers, [customer, `customer ${number}`, at])
    await rows.add(tables.tokens, [token.id, customer, digest, 'tp_live_', 'bench', 'read trade', '', at])
    accounts.push(openAccount(customer))
  }
  await rows.flush()
  return accounts
}

/** The last charge of a customer that was not refunded. */
type LastCharge = { readonly seq: number; readonly order: OrderId; readonly price: Kopecks }

/** A deposit of each customer, then purchases in the order of their time, half of them by resellers. */
async function addPostings(
  rows: Buffered,
  accounts: Account[],
  count: number,
  onProgress: (done: number) => void,
): Promise<void> {
  const last: (LastCharge | undefined)[] = []
  const firstAt = Date.now() - yearMs - newestAgoMs
  for (let number = 0; number < count; number += 1) {
    const atMs = firstAt + Math.floor((number * yearMs) / count)
    const isDeposit = number < accounts.length
    const index = isDeposit ? number : chooseBuyer(number, accounts.length)
    const account = accounts[index]
    if (!account) continue
    const charge = last[index]
    const isRefund = !isDeposit && number % refundEvery === 0 && charge !== undefined
    const movement = isDeposit ? toDeposit() : isRefund ? toRefund(index, charge) : toCharge(index, atMs)
    const { account: after, posting } = post(account, movement, atMs, sha256)
    accounts[index] = after
    if (posting.kind === 'charge') {
      await rows.add(tables.orders, toOrderRow(posting))
      last[index] = { seq: posting.seq, order: posting.order as OrderId, price: negate(posting.amount) }
    } else last[index] = undefined
    await rows.add(tables.postings, toPostingRow(posting))
    if ((number + 1) % 1_000_000 === 0) onProgress(number + 1)
  }
  await rows.flush()
}

/** Every other purchase is a reseller's. The numbers are spread by a large prime. */
function chooseBuyer(number: number, customers: number): number {
  const spread = (number * 2_654_435_761) % 4_294_967_296
  return spread % (number % 2 === 0 ? Math.min(resellers, customers) : customers)
}

const toDeposit = (): Movement => ({
  kind: 'credit',
  house: 'funds:operator',
  amount: deposit,
  order: null,
  token: null,
  refundOf: null,
  note: 'bench',
  key: null,
  reference: null,
})

const tokenOf = (index: number): TokenId => personNumber(index + 1).token.id

const toCharge = (index: number, atMs: number): Movement => ({
  ...toDeposit(),
  kind: 'charge',
  house: `revenue:${thing.product}`,
  amount: kopecks(-BigInt(thing.kopecks)),
  order: makeId('order', atMs, randomBytes),
  token: tokenOf(index),
  note: thing.note,
})

const toRefund = (index: number, { seq, order, price }: LastCharge): Movement => ({
  ...toDeposit(),
  kind: 'refund',
  house: `revenue:${thing.product}`,
  amount: price,
  order,
  token: tokenOf(index),
  refundOf: seq,
  note: 'refund',
})

const toOrderRow = ({ order, customer, amount, seq, token, at }: Posting): CopiedRow => [
  order,
  customer,
  thing.product,
  'buy',
  -amount,
  BigInt(seq),
  token,
  thing.input,
  thing.calculation,
  BigInt(at),
]

const toPostingRow = (posting: Posting): CopiedRow => [
  posting.customer,
  BigInt(posting.seq),
  posting.kind,
  posting.house,
  posting.amount,
  posting.balanceAfter,
  posting.order,
  posting.token,
  posting.refundOf === null ? null : BigInt(posting.refundOf),
  posting.note,
  BigInt(posting.at),
  posting.hash,
]

const toAccountRow = ({ customer, balance, apiSpent, seq, head, lastAt }: Account): CopiedRow => [
  customer,
  balance,
  apiSpent,
  BigInt(seq),
  head,
  BigInt(lastAt),
]
