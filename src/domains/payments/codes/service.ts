import type { CustomerId } from '../../../core/ids.ts'
import { type Kopecks, negate } from '../../../core/money.ts'
import type { Clock } from '../../../core/time.ts'
import { createTokenBuckets, secondsUntilOne, type TokenBucketRate } from '../../../core/token-buckets.ts'
import type { Database, Reader, Tx } from '../../../db/transaction.ts'
import type { Ledger } from '../../ledger/index.ts'
import { codeExists, codeRefused, noSuchCode, tooManyCodes } from '../errors.ts'
import { isOpen, type Payment, type PaymentChange, type Step } from '../rules.ts'
import { countUses, findStep } from '../store.ts'
import { bonusOf, type Code, readCode, whyNot } from './rules.ts'
import * as store from './store.ts'

export type Codes = ReturnType<typeof createCodes>

const source = 'bonus'
/** Codes are words, and could be guessed: so many that are none are forgiven to a customer, and as many an hour. */
const mistakes: TokenBucketRate = { perSecond: 20 / 3600, burst: 20 }

/** Codes that add to top-ups: promised when a payment begins, given when it is paid, taken back with it. */
export function createCodes(deps: { db: Database; ledger: Pick<Ledger, 'credit' | 'takeBack'>; clock: Clock }) {
  const { db, ledger, clock } = deps
  const guesses = createTokenBuckets(mistakes, clock)

  /** Whoever has guessed too often learns of no code any more, whether it is one. */
  async function unlessGuessing<Found>(customer: CustomerId, find: () => Promise<Found | undefined>): Promise<Found> {
    if (!guesses.take(customer)) throw tooManyCodes(secondsUntilOne(mistakes, guesses.level(customer)))
    const found = await find()
    if (found === undefined) throw codeRefused('unknown')
    guesses.give(customer)
    return found
  }

  async function judge(reader: Reader, code: Code, customer: CustomerId, amount: Kopecks) {
    const [used, usedByCustomer] = [
      await countUses(reader, code.code, ''),
      await countUses(reader, code.code, customer),
    ]
    return { code, why: whyNot(code, { amount, used, usedByCustomer, nowMs: clock() }) }
  }

  async function standing(tx: Tx, name: string, customer: CustomerId, amount: Kopecks) {
    const code = await store.lockCode(tx, name)
    return code && judge(tx, code, customer, amount)
  }

  /** What a code that was found adds, or why it adds nothing. */
  function bonusIn(found: Awaited<ReturnType<typeof judge>>, amount: Kopecks): { code: string; bonus: Kopecks } {
    if (found.why) throw codeRefused(found.why, found.code.least)
    return { code: found.code.code, bonus: bonusOf(found.code, amount) }
  }

  /** The bonus that a payment has brought, unless that has gone back. */
  async function given(reader: Reader, { code, id }: Payment): Promise<PaymentChange | undefined> {
    if (code === null || (await findStep(reader, id, 'bonus_back'))) return undefined
    return findStep(reader, id, 'bonus')
  }

  return {
    /** What a code adds to a payment that begins now. Open payments count as uses until they expire. */
    async promise(
      tx: Tx,
      customer: CustomerId,
      text: string,
      amount: Kopecks,
    ): Promise<{ code: string; bonus: Kopecks }> {
      const name = readCode(text)
      const find = async () => (name === undefined ? undefined : standing(tx, name, customer, amount))
      return bonusIn(await unlessGuessing(customer, find), amount)
    },

    /** What a code would add now. Nothing is promised. */
    async quote(customer: CustomerId, text: string, amount: Kopecks): Promise<Kopecks> {
      const name = readCode(text)
      const code = await unlessGuessing(customer, async () =>
        name === undefined ? undefined : store.findCode(db, name),
      )
      return bonusIn(await judge(db, code, customer, amount), amount).bonus
    },

    /** Gives what was promised. Of a payment that came after its time, only if the code still adds something. */
    async give(tx: Tx, payment: Payment): Promise<readonly Step[]> {
      const { code, bonus, customer, id } = payment
      if (code === null) return []
      const again = isOpen(payment.state) ? undefined : await standing(tx, code, customer, payment.amount)
      if (again?.why) return []
      const posting = await ledger.credit(tx, customer, bonus, source, `code ${code}`, id)
      return [{ kind: 'bonus', amount: bonus, posting: posting.seq, note: code }]
    },

    given,

    /** A payment takes its bonus along as soon as any of it goes back: else one would keep it for a kopeck. */
    async takeBack(tx: Tx, payment: Payment): Promise<readonly Step[]> {
      const bonus = await given(tx, payment)
      if (!bonus) return []
      const { customer, id } = payment
      const posting = await ledger.takeBack(tx, customer, bonus.amount, source, `code ${bonus.note} taken back`, id)
      return [{ kind: 'bonus_back', amount: negate(bonus.amount), posting: posting.seq, note: bonus.note }]
    },

    add: (code: Omit<Code, 'createdAt' | 'endedAt'>): Promise<void> =>
      db.transact(async (tx) => {
        const isAdded = await store.insertCode(tx, { ...code, createdAt: clock(), endedAt: null })
        if (!isAdded) throw codeExists(code.code)
      }),

    async list(limit: number): Promise<readonly (Code & { readonly used: number })[]> {
      const codes = await store.listCodes(db, limit)
      return Promise.all(codes.map(async (code) => ({ ...code, used: await countUses(db, code.code, '') })))
    },

    /** What was promised before is given; nobody gets a new promise. */
    end: (code: string): Promise<void> =>
      db.transact(async (tx) => {
        if (!(await store.endCode(tx, code, clock()))) throw noSuchCode()
      }),
  }
}
