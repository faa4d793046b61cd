import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { HandClock } from '../../../test/harness/clock.ts'
import { type Engine, openTestDatabase } from '../../../test/harness/database.ts'
import { isLong } from '../../../test/harness/scale.ts'
import { wire } from '../../../test/harness/wired.ts'
import type { Services } from '../../app/shop/services.ts'
import type { CustomerId, OrderId, TokenId } from '../../core/ids.ts'
import { type Kopecks, kopecks, maxKopecks } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Database } from '../../db/transaction.ts'
import type { Payer } from '../ledger/index.ts'
import type { Receipt } from './index.ts'
import { keyKeptMs } from './rules.ts'

/** One step of a history. Numbers pick among the orders and tokens that exist at that step. */
type Step =
  | { do: 'credit'; amount: bigint }
  | { do: 'charge'; price: bigint; token: number; key: number | null; ends: 'well' | 'refused' | 'fault' }
  | { do: 'retry'; pick: number; changed: boolean }
  | { do: 'refund'; pick: number; amount: 'all' | number }
  | { do: 'together'; prices: bigint[]; token: number }
  | { do: 'same key at once'; price: bigint; times: number }
  | { do: 'wait'; ms: number }

const price = fc.oneof(
  { weight: 6, arbitrary: fc.bigInt({ min: 1n, max: 40_000n }) },
  { weight: 1, arbitrary: fc.constant(0n) },
)
const token = fc.nat(3)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('credit' as const), amount: fc.bigInt({ min: 1n, max: 60_000n }) }),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'credit', amount: maxKopecks }) },
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('charge' as const),
      price,
      token,
      key: fc.option(fc.nat(4)),
      ends: fc.constantFrom<'well' | 'refused' | 'fault'>('well', 'well', 'well', 'well', 'refused', 'fault'),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('retry' as const), pick: fc.nat(100), changed: fc.boolean() }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('refund' as const),
      pick: fc.nat(100),
      amount: fc.oneof(fc.constant('all' as const), fc.integer({ min: 0, max: 120 })),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('together' as const),
      prices: fc.array(fc.bigInt({ min: 1n, max: 20_000n }), { minLength: 2, maxLength: 6 }),
      token,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('same key at once' as const),
      price,
      times: fc.integer({ min: 2, max: 5 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(-3000, 0, 1, 1000, 86_400_000, keyKeptMs),
    }),
  },
)
const history = fc.array(step, { minLength: 50, maxLength: 50 })

type ModelPosting = {
  kind: string
  amount: bigint
  after: bigint
  order: string | null
  token: string | null
  refundOf: number | null
}
type Keyed = { key: string; price: bigint; token: number; text: string; body: string; at: number }
type ModelToken = { payer: Payer['token']; spent: bigint }

type ModelOrder = { price: bigint; seq: number | null }

class StageRefusal extends Refusal {}
class StageFault extends Error {}

/** The model: a balance, a list of orders, and the spending of each token. */
class Model {
  balance = 0n
  apiSpent = 0n
  readonly postings: ModelPosting[] = []
  readonly orders = new Map<string, ModelOrder>()
  readonly keyed = new Map<string, Keyed>()
  readonly sent: Keyed[] = []

  constructor(readonly tokens: readonly ModelToken[]) {}

  /** The code that a charge must be refused with now. */
  refusalOf(cost: bigint, by: number): string | undefined {
    const { payer, spent } = this.tokens[by] ?? { payer: null, spent: 0n }
    if (cost === 0n) return undefined
    if (cost > this.balance) return 'insufficient_funds'
    return spent + cost > (payer?.cap ?? cost + spent) ? 'forbidden' : undefined
  }

  post(posting: Omit<ModelPosting, 'after'>): void {
    this.balance += posting.amount
    this.postings.push({ ...posting, after: this.balance })
    const owner = this.tokens.find((each) => each.payer !== null && each.payer.id === posting.token)
    if (!owner) return
    this.apiSpent -= posting.amount
    owner.spent -= posting.amount
  }

  charge(order: string, cost: bigint, by: number): void {
    const id = this.tokens[by]?.payer?.id ?? null
    if (cost > 0n) this.post({ kind: 'charge', amount: -cost, order, token: id, refundOf: null })
    this.orders.set(order, { price: cost, seq: cost > 0n ? this.postings.length : null })
  }
}

/** Runs the history of one customer against the model, with its own services and clock. */
class HistoryRun {
  private constructor(
    private readonly services: Services,
    private readonly clock: HandClock,
    private readonly customer: CustomerId,
    private readonly model: Model,
  ) {}

  static async begin(db: Database, startMs: number): Promise<HistoryRun> {
    const clock = new HandClock(startMs)
    const services = wire(db, clock)
    const { id } = await services.customers.create('history')
    const caps = [undefined, null, kopecks(90_000n), kopecks(15_000n)]
    const tokens: ModelToken[] = []
    for (const cap of caps) {
      const made = cap === undefined ? undefined : await services.customers.issueToken(id, { name: 'test', cap })
      tokens.push({ payer: made ? { id: made.token.id, cap: cap ?? null } : null, spent: 0n })
    }
    return new HistoryRun(services, clock, id, new Model(tokens))
  }

  async run(steps: readonly Step[]): Promise<void> {
    for (const [index, each] of steps.entries()) {
      try {
        await this.take(each)
      } catch (error) {
        throw new Error(`step ${index} ${Bun.inspect(each)} of ${Bun.inspect(steps, { depth: 5 })}`, { cause: error })
      }
    }
    await this.compare()
  }

  private take(each: Step): Promise<void> {
    switch (each.do) {
      case 'credit':
        return this.credit(each.amount)
      case 'charge':
        return this.charge(each)
      case 'retry':
        return this.retry(each.pick, each.changed)
      case 'refund':
        return this.refund(each.pick, each.amount)
      case 'together':
        return this.together(each.prices, each.token)
      case 'same key at once':
        return this.sameKey(each.price, each.times)
      case 'wait':
        this.clock.advance(each.ms)
        return Promise.resolve()
      default:
        return each satisfies never
    }
  }

  private purchase(
    cost: bigint,
    by: number,
    key: string | undefined,
    text: string,
    ends: 'well' | 'refused' | 'fault',
  ) {
    const request = {
      by: this.payer(by),
      key,
      toBody: (receipt: Receipt) => JSON.stringify({ order: receipt.order, balance: String(receipt.balance) }),
    }
    const orderInput = { product: 'history', action: 'buy', input: { text } }
    return this.services.orders.sell(request, orderInput, async (sale) => {
      if (ends === 'refused') throw new StageRefusal('out_of_stock', { available: 0 })
      const receipt = await sale.charge({ price: kopecks(cost), calculation: { of: text }, note: 'a purchase' })
      if (ends === 'fault') throw new StageFault('the supplier burnt down')
      return receipt
    })
  }

  private payer(by: number): Payer {
    return { customer: this.customer, token: this.model.tokens[by]?.payer ?? null }
  }

  private async credit(amount: bigint): Promise<void> {
    const { db, ledger } = this.services
    const outcome = await codeOf(
      db.transact((tx) => ledger.credit(tx, this.customer, kopecks(amount), 'operator', 'top-up')),
    )
    const tooMuch = this.model.balance + amount > maxKopecks
    expect(outcome).toBe(tooMuch ? 'conflict' : 'done')
    if (!tooMuch) this.model.post({ kind: 'credit', amount, order: null, token: null, refundOf: null })
    // A credit above maxKopecks is refused and changes nothing.
  }

  private async charge(of: Extract<Step, { do: 'charge' }>): Promise<void> {
    const key = of.key === null ? undefined : `key-${of.key}`
    await this.chargeOnce(of.price, of.token, key, `${of.price} ${of.token}`, of.ends)
  }

  private async chargeOnce(
    cost: bigint,
    by: number,
    key: string | undefined,
    text: string,
    ends: 'well' | 'refused' | 'fault' = 'well',
  ): Promise<void> {
    const kept = key === undefined ? undefined : this.model.keyed.get(key)
    const known = kept && kept.at > this.clock.nowMs - keyKeptMs ? kept : undefined
    const attempt = this.purchase(cost, by, key, text, ends)
    if (known && known.text !== text) return expect(await codeOf(attempt)).toBe('idempotency_key_reused')
    if (known) return expect(await attempt).toMatchObject({ body: known.body, replayed: true })
    if (ends === 'refused') return expect(await codeOf(attempt)).toBe('out_of_stock')
    const refusal = this.model.refusalOf(cost, by)
    if (refusal) return expect(await codeOf(attempt)).toBe(refusal)
    if (ends === 'fault') return expect(await codeOf(attempt)).toBe('fault')
    const { body, replayed } = await attempt
    expect(replayed).toBe(false)
    const answer = JSON.parse(body) as { order: string; balance: string }
    this.model.charge(answer.order, cost, by)
    expect(answer.balance).toBe(String(this.model.balance))
    if (key === undefined) return
    const entry = { key, price: cost, token: by, text, body, at: this.clock.nowMs }
    this.model.keyed.set(key, entry)
    this.model.sent.push(entry)
  }

  private async retry(pick: number, changed: boolean): Promise<void> {
    const earlier = this.model.sent[pick % Math.max(1, this.model.sent.length)]
    if (!earlier) return
    const cost = changed ? earlier.price + 1n : earlier.price
    await this.chargeOnce(cost, earlier.token, earlier.key, changed ? `${cost} changed` : earlier.text)
  }

  private async refund(pick: number, amount: 'all' | number): Promise<void> {
    const orders = [...this.model.orders]
    const [order, { price: cost, seq }] = orders[pick % Math.max(1, orders.length)] ?? [
      'ord_00000000000000000000000000',
      { price: 0n, seq: null },
    ]
    // A number is a percentage of the price: part of it, all of it, more than it, or nothing.
    const given = amount === 'all' ? cost : (cost * BigInt(amount)) / 100n
    const outcome = await codeOf(
      this.services.orders.refund(order as OrderId, amount === 'all' ? 'all' : kopecks(given), 'sorry'),
    )
    const charge = seq === null ? undefined : this.model.postings[seq - 1]
    if (!charge) return expect(outcome).toBe('not_found')
    const isRefunded = this.model.postings.some((each) => each.refundOf === seq)
    const isTooMuch = this.model.balance + given > maxKopecks
    if (isRefunded || given <= 0n || given > cost || isTooMuch) return expect(outcome).toBe('conflict')
    expect(outcome).toBe('done')
    this.model.post({ kind: 'refund', amount: given, order, token: charge.token, refundOf: seq })
  }

  /** Concurrent purchases: the successful ones fit in some order, and each refusal was due at some point of it. */
  private async together(prices: readonly bigint[], by: number): Promise<void> {
    const attempts = await Promise.allSettled(
      prices.map((cost, index) => this.purchase(cost, by, undefined, `together ${index}`, 'well')),
    )
    const rows = await this.services.ledger.history(this.customer, undefined, prices.length)
    const seqOf = new Map(rows.map((row) => [row.order as string, row.seq]))
    const answers = attempts.map((each) =>
      each.status === 'fulfilled' ? (JSON.parse(each.value.body) as { order: string; balance: string }) : undefined,
    )
    const inOrder = [...answers.entries()]
      .flatMap(([index, answer]) => (answer ? [{ answer, cost: prices[index] ?? 0n }] : []))
      .toSorted((a, b) => (seqOf.get(a.answer.order) ?? 0) - (seqOf.get(b.answer.order) ?? 0))
    const due = prices.map((cost) => new Set([this.model.refusalOf(cost, by)]))
    for (const { answer, cost } of inOrder) {
      expect(this.model.refusalOf(cost, by)).toBeUndefined()
      this.model.charge(answer.order, cost, by)
      expect(answer.balance).toBe(String(this.model.balance))
      for (const [index, other] of prices.entries()) due[index]?.add(this.model.refusalOf(other, by))
    }
    for (const [index, attempt] of attempts.entries()) {
      if (attempt.status === 'fulfilled') continue
      if (!(attempt.reason instanceof Refusal)) throw attempt.reason
      expect([...(due[index] ?? [])]).toContain(attempt.reason.code)
    }
  }

  private async sameKey(cost: bigint, times: number): Promise<void> {
    const key = `at-once-${this.model.postings.length}-${this.model.orders.size}-${this.clock.nowMs}`
    const refusal = this.model.refusalOf(cost, 0)
    const attempts = await Promise.allSettled(
      Array.from({ length: times }, () => this.purchase(cost, 0, key, 'at once', 'well')),
    )
    const answers = attempts.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    const codes: string[] = attempts.flatMap((each) =>
      each.status === 'rejected' ? [(each.reason as Refusal).code] : [],
    )
    if (refusal) {
      expect(answers).toEqual([])
      return expect(codes.filter((code) => code !== 'request_in_progress')).toEqual([refusal])
    }
    expect(answers.filter((each) => !each.replayed)).toHaveLength(1)
    expect(new Set(answers.map((each) => each.body)).size).toBe(1)
    expect(codes.every((code) => code === 'request_in_progress')).toBe(true)
    this.model.charge((JSON.parse(answers[0]?.body ?? '') as { order: string }).order, cost, 0)
  }

  /** Compares everything a customer can see, and the stored spending of the tokens, with the model. */
  private async compare(): Promise<void> {
    const { ledger, orders, db } = this.services
    const { balance, apiSpent } = await ledger.balance(this.customer)
    expect([balance, apiSpent]).toEqual([this.model.balance, this.model.apiSpent] as Kopecks[])
    const postings: ModelPosting[] = []
    for (let before: number | undefined; ; ) {
      const rows = await ledger.history(this.customer, before, 40)
      for (const { kind, amount, balanceAfter, order, token: by, refundOf } of rows) {
        postings.push({ kind, amount, after: balanceAfter, order, token: by, refundOf })
      }
      if (rows.length < 40) break
      before = rows.at(-1)?.seq
    }
    expect(postings.toReversed()).toEqual(this.model.postings)
    const listed = await orders.list(this.customer, undefined, 500)
    expect(
      new Map<string, ModelOrder>(listed.map((each) => [each.id, { price: each.price, seq: each.chargeSeq }])),
    ).toEqual(new Map([...this.model.orders].toSorted(([a], [b]) => (a < b ? 1 : -1))))
    const spending = await db.all<{ token_id: TokenId; spent: bigint }>(
      'SELECT s.token_id, s.spent FROM token_spending s JOIN tokens t ON t.id = s.token_id WHERE t.customer_id = $1',
      [this.customer],
    )
    for (const { payer, spent } of this.model.tokens) {
      if (!payer?.cap) continue
      expect(spending.find((row) => row.token_id === payer.id)?.spent ?? 0n).toBe(spent)
    }
  }
}

async function codeOf(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt
    return 'done'
  } catch (error) {
    if (error instanceof Refusal) return error.code
    if (error instanceof StageFault) return 'fault'
    throw error
  }
}

const atOnce = 20
const perDatabase = 200
const daysMs = 86_400_000

/** Runs histories concurrently; each block ends with `verify` and a checkpoint for the later blocks. */
async function runAll(engine: Engine, count: number, seed: number): Promise<{ postings: number; checkpoints: number }> {
  const histories = fc.sample(history, { numRuns: count, seed })
  const covered = { postings: 0, checkpoints: 0 }
  for (let from = 0; from < count; from += perDatabase) {
    const opened = await openTestDatabase(engine)
    const { db } = opened
    const here = histories.slice(from, from + perDatabase)
    for (let at = 0; at < here.length; at += atOnce) {
      const startMs = Date.UTC(2026, 0, 1) + at * 100 * daysMs
      const runs = here.slice(at, at + atOnce).map(async (steps) => (await HistoryRun.begin(db, startMs)).run(steps))
      await Promise.all(runs)
      const services = wire(db, new HandClock(startMs + 1900 * daysMs))
      const verifier = services.verifiers.find((each) => each.name === 'money')
      const audit = await verifier?.verify()
      expect(audit?.findings).toEqual([])
      expect(await services.ledgerAudit.makeCheckpoint()).toBeDefined()
      if (at + atOnce >= here.length) {
        const last = await verifier?.verify()
        expect(last?.findings).toEqual([])
        covered.postings += last?.covered['postings'] ?? 0
        covered.checkpoints += last?.covered['checkpoints'] ?? 0
      }
    }
    await opened.close()
  }
  return covered
}

describe('random histories of purchases and refunds', () => {
  const seed = Date.now() % 2 ** 31

  test.each([
    ['sqlite', isLong ? 2000 : 50],
    ['postgres', isLong ? 300 : 8],
  ] as const)(
    '%s: %d random histories of 50 steps give the balances, lists and token spending of the model',
    async (engine, count) => {
      try {
        const covered = await runAll(engine, count, seed)
        expect(covered.postings).toBeGreaterThan(count * 15)
        expect(covered.checkpoints).toBeGreaterThan(0)
      } catch (error) {
        throw new Error(`with seed ${seed}`, { cause: error })
      }
    },
  )
})
