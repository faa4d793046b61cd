import { realRuntime } from '../../src/app/shop/services.ts'
import { sayFinding } from '../../src/core/finding.ts'
import type { CustomerId, OrderId, TokenId } from '../../src/core/ids.ts'
import { type Kopecks, kopecks, readRoubles, toRoubleText } from '../../src/core/money.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { createRowHistory } from '../../src/db/row-history.ts'
import type { Database, Tx } from '../../src/db/transaction.ts'
import { createLedger, createLedgerAudit, type Payer } from '../../src/domains/ledger/index.ts'
import type { Posting } from '../../src/domains/ledger/rules.ts'
import { HandClock } from './clock.ts'

/**
 * Runs a script on the ledger of an empty database and returns it with the real outcome behind each arrow. A test
 * compares the result with the script. A line is an action, or an action, ` → ` and its outcome:
 *
 *     open anna                                 → balance 0.00
 *     credit anna 100 from operator             → #1 balance 100.00
 *     charge anna 30 for vpn by phone capped 50 → #2 balance 70.00, api 30.00, phone 30.00
 *     refund anna #2 all                        → #3 balance 100.00, api 0.00, phone 0.00
 *
 * After a comma an outcome continues in the next line. A refusal must leave the account unchanged; otherwise the
 * outcome reports the change. Names of customers, tokens and orders are their ids. `clock` and `unguard` have no
 * outcome.
 */
export async function play(db: Database, script: string): Promise<string> {
  const clock = new HandClock(0)
  const deps = { ...realRuntime, db, clock: clock.read, history: createRowHistory(realRuntime) }
  const bank = { db, clock, ledger: createLedger(deps), audit: createLedgerAudit(deps), caps: new Map(), orders: 0 }
  const lines: string[] = []
  for (const line of linesOf(script)) {
    const [action = ''] = line.split(' → ')
    const outcome = await perform(bank, action.split(' '))
    lines.push(outcome === undefined ? action : `${action} → ${outcome}`)
  }
  return lines.join('\n')
}

/** A script without its white space, to be compared with the result of `play`. */
export const squeezed = (script: string): string => linesOf(script).join('\n')

const linesOf = (script: string): string[] =>
  script
    .replace(/,\s*\n/g, ', ')
    .split('\n')
    .map((line) => line.trim().replace(/\s+/g, ' '))
    .filter(Boolean)

type Bank = {
  readonly db: Database
  readonly clock: HandClock
  readonly ledger: ReturnType<typeof createLedger>
  readonly audit: ReturnType<typeof createLedgerAudit>
  readonly caps: Map<string, Kopecks>
  orders: number
}
type Args = readonly string[]
type Play = (bank: Bank, args: Args) => Promise<string | undefined>

const plays: Readonly<Record<string, Play>> = {
  async open({ db, ledger }, [, name = '']) {
    await db.transact(async (tx) => {
      await tx.run('INSERT INTO customers (id, name, created_at) VALUES ($1, $1, 0)', [name])
      ledger.open(tx, name as CustomerId)
    })
    return `balance ${toRoubleText((await ledger.balance(name as CustomerId)).balance)}`
  },

  credit: (bank, [, name = '', amount = '', , source = '']) =>
    moved(bank, name, (tx) => bank.ledger.credit(tx, name as CustomerId, money(amount), source, 'top-up')),

  charge(bank, args) {
    const [, name = '', amount = ''] = args
    const by = payer(bank, args)
    return moved(bank, name, (tx) => charge(bank, tx, by, amount, after(args, 'for')), by.token?.id)
  },

  /** `race anna 30 for vpn times 5`: the same charge five times in parallel. */
  async race(bank, args) {
    const [, , amount = ''] = args
    const by = payer(bank, args)
    const counts = new Map<string, number>()
    const attempt = async () => {
      const outcome = await outcomeOf(() =>
        bank.db.transact((tx) => charge(bank, tx, by, amount, after(args, 'for'))).then(() => 'paid'),
      )
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
    }
    await Promise.all(Array.from({ length: Number(after(args, 'times')) }, attempt))
    const { balance } = await bank.ledger.balance(by.customer)
    const outcomes = [...counts]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([outcome, count]) => `${count} ${outcome}`)
    return `${outcomes.join(', ')}, balance ${toRoubleText(balance)}`
  },

  refund(bank, [, name = '', seq = '', amount = '']) {
    const given = amount === 'all' ? 'all' : money(amount)
    return moved(bank, name, (tx) => bank.ledger.refund(tx, name as CustomerId, numberOf(seq), given, 'sorry'))
  },

  async history({ ledger }, [, name = '']) {
    const postings = await ledger.history(name as CustomerId, undefined, 100)
    return postings.map((each) => `#${each.seq} ${each.kind} ${toRoubleText(each.amount)} ${each.house}`).join(', ')
  },

  async times({ ledger }, [, name = '']) {
    const postings = await ledger.history(name as CustomerId, undefined, 100)
    return postings.map((each) => `#${each.seq} ${each.at / 1000}s`).join(', ')
  },

  /** `orders anna`, or `orders anna below #3`. */
  async orders({ ledger }, args) {
    const below = args.includes('below') ? numberOf(after(args, 'below')) : Number.MAX_SAFE_INTEGER
    return (await ledger.chargedOrders((args[1] ?? '') as CustomerId, below, 100)).join(', ') || 'none'
  },

  house: async ({ audit }) =>
    (await audit.houseBalances())
      .map(({ house, balance }) => `${house} ${toRoubleText(kopecks(balance))}`)
      .toSorted()
      .join(', '),

  async checkpoint({ audit }) {
    const made = await audit.makeCheckpoint()
    return made ? `number ${made.number}, accounts ${made.accounts}, postings ${made.postings}` : 'nothing'
  },

  /** Runs `verify`: `clean`, or each broken promise and its place. */
  async verify({ db, audit, caps }) {
    const { findings } = await db.snapshot((reader) => audit.verify(reader, caps, async () => []))
    return [...new Set(findings.map((each) => `${each.promise}: ${sayFinding(each).where}`))].join(', ') || 'clean'
  },

  /** `clock +60s`, `clock -5s`. */
  async clock({ clock }, [, change = '']) {
    clock.advance(Number(change.replace(/s$/, '')) * 1000)
    return undefined
  },

  /** Drops the triggers that protect postings, as the owner of the database can. */
  async unguard({ db }) {
    const of = db.engine === 'postgres' ? ' ON postings' : ''
    await db.transact(async (tx) => {
      for (const guard of ['append_only', 'no_delete']) await tx.run(`DROP TRIGGER postings_${guard}${of}`)
    })
    return undefined
  },

  /** `forge anna #2 note lie`: overwrites the note or amount of a posting. */
  forge: ({ db }, [, name = '', seq = '', column = '', value = '']) =>
    guarded(db, (tx) =>
      tx.run(`UPDATE postings SET ${column} = $3 WHERE customer_id = $1 AND seq = $2`, [
        name,
        numberOf(seq),
        column === 'amount' ? BigInt(Math.round(Number(value) * 100)) : value,
      ]),
    ),

  erase: ({ db }, [, name = '', seq = '']) =>
    guarded(db, (tx) => tx.run('DELETE FROM postings WHERE customer_id = $1 AND seq = $2', [name, numberOf(seq)])),
}

function perform(bank: Bank, args: Args): Promise<string | undefined> {
  const found = plays[args[0] ?? '']
  if (!found) throw new Error(`a bank statement has no ${args[0]}`)
  return found(bank, args)
}

/** One movement in its own transaction, and the account and the token after it. */
async function moved(
  { db, ledger, caps }: Bank,
  name: string,
  work: (tx: Tx) => Promise<Posting | undefined>,
  token?: string,
): Promise<string> {
  const row = () => db.first('SELECT * FROM accounts WHERE customer_id = $1', [name])
  const before = Bun.inspect(await row())
  const outcome = await outcomeOf(async () => {
    const posting = await db.transact(work)
    if (!posting) return 'nothing'
    const { balance, apiSpent } = await ledger.balance(name as CustomerId)
    const shown = [`#${posting.seq} balance ${toRoubleText(balance)}`]
    if (balance !== posting.balanceAfter) shown.push(`but its posting says ${toRoubleText(posting.balanceAfter)}`)
    if (posting.token !== null) shown.push(`api ${toRoubleText(apiSpent)}`)
    const spender = token ?? posting.token
    if (spender !== null && caps.has(spender)) shown.push(`${spender} ${await spentBy(db, spender)}`)
    return shown.join(', ')
  })
  const isSame = Bun.inspect(await row()) === before
  return outcome.startsWith('#') || isSame ? outcome : `${outcome}, but the account has changed`
}

async function spentBy(db: Database, token: string): Promise<string> {
  const row = await db.first<{ spent: bigint }>('SELECT spent FROM token_spending WHERE token_id = $1', [token])
  return toRoubleText(kopecks(row?.spent ?? 0n))
}

async function charge(bank: Bank, tx: Tx, by: Payer, amount: string, product: string): Promise<Posting | undefined> {
  const account = await bank.ledger.lock(tx, by.customer)
  bank.orders += 1
  const order = `order${bank.orders}` as OrderId
  return bank.ledger.charge(tx, account, by, { price: money(amount), product, order, note: 'a thing' })
}

function payer({ caps }: Bank, args: Args): Payer {
  const customer = (args[1] ?? '') as CustomerId
  if (!args.includes('by')) return { customer, token: null }
  const id = after(args, 'by') as TokenId
  if (args.includes('capped')) caps.set(id, money(after(args, 'capped')))
  return { customer, token: { id, cap: caps.get(id) ?? null } }
}

/** A refusal as its code, a fault as its text. */
async function outcomeOf(work: () => Promise<string>): Promise<string> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refusal) return `refused: ${error.code}`
    if (error instanceof RangeError) return `fault: ${error.message}`
    throw error
  }
}

/** Undefined, or that the database refused the change. */
async function guarded(db: Database, work: (tx: Tx) => Promise<unknown>): Promise<string | undefined> {
  try {
    await db.transact(work)
    return undefined
  } catch {
    return 'refused by the database'
  }
}

const after = (args: Args, keyword: string): string => args[args.indexOf(keyword) + 1] ?? ''
const numberOf = (seq: string): number => Number(seq.replace('#', ''))

function money(text: string): Kopecks {
  const amount = readRoubles(text)
  if (amount === undefined) throw new Error(`${text} is not an amount`)
  return amount
}
