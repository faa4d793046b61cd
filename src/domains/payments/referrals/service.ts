import { randomBase32 } from '../../../core/base32.ts'
import type { CustomerId, RandomBytes } from '../../../core/ids.ts'
import { type Kopecks, kopecks, negate } from '../../../core/money.ts'
import type { Clock } from '../../../core/time.ts'
import type { Database, Reader, Tx } from '../../../db/transaction.ts'
import type { Customers } from '../../customers/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import { readCode } from '../codes/rules.ts'
import { broughtAlready, broughtHimself, cameBefore } from '../errors.ts'
import type { Payment, Step } from '../rules.ts'
import { countPaid, findStep } from '../store.ts'
import * as store from './store.ts'

export type Referrals = ReturnType<typeof createReferrals>

const source = 'referral'
/** Forty bits of chance, short enough to be told over the telephone. */
const codeLength = 8
const mostTries = 5

/** What became of saying who brought somebody: he himself, one who came later, or somebody else before do not count. */
export type BringOutcome = 'brought' | keyof typeof refusals

const refusals = { himself: broughtHimself, earlier: cameBefore, again: broughtAlready } as const

/** What a customer sees of whom he has brought. Without `terms` nothing is given for it. */
export type ReferralSight = {
  readonly terms: store.ReferralTerms | undefined
  readonly code: string | undefined
  readonly brought: number
  readonly earned: Kopecks
}

/** Customers who bring customers get a share of their first top-ups. Off until the operator says how much. */
export function createReferrals(deps: {
  db: Database
  ledger: Ledger
  customers: Pick<Customers, 'isOpenIn'>
  clock: Clock
  random: RandomBytes
}) {
  const { db, ledger, clock } = deps

  /** The share that a payment has brought to whoever brought its customer, unless that has gone back. */
  async function given(
    reader: Reader,
    { id, customer }: Payment,
  ): Promise<{ readonly amount: Kopecks; readonly referrer: CustomerId } | undefined> {
    const step = (await findStep(reader, id, 'share_back')) ? undefined : await findStep(reader, id, 'share')
    const referrer = step && (await store.findReferrer(reader, customer))
    return step && referrer && { amount: step.amount, referrer }
  }

  /** What is given now; undefined while nothing is. */
  async function offered(reader: Reader): Promise<store.ReferralTerms | undefined> {
    const terms = await store.findTerms(reader)
    return terms && terms.hundredths > 0 ? terms : undefined
  }

  /**
   * Says who brought a customer, once, in the caller's transaction. Ids tell who was there first; a clock that went
   * back, or another shop's that is ahead, makes a newcomer the earlier one, and then nobody has brought him.
   */
  async function bring(tx: Tx, customer: CustomerId, referrer: CustomerId): Promise<BringOutcome> {
    if (referrer === customer) return 'himself'
    if (referrer > customer) return 'earlier'
    await ledger.lock(tx, customer)
    await ledger.lock(tx, referrer)
    return (await store.insertReferral(tx, customer, referrer, clock())) ? 'brought' : 'again'
  }

  return {
    /**
     * The share of a payment that is being credited. Whoever brings was there before whom he brings, so accounts are
     * always locked from the newer to the older, and no two transactions wait for each other.
     */
    async give(tx: Tx, payment: Payment): Promise<readonly Step[]> {
      const terms = await offered(tx)
      if (!terms) return []
      const referrer = await store.findReferrer(tx, payment.customer)
      if (!referrer || (await countPaid(tx, payment.customer)) >= terms.topUps) return []
      // Whoever was shut out or has left gets nothing more.
      if (!(await deps.customers.isOpenIn(tx, referrer))) return []
      const amount = kopecks((payment.amount * BigInt(terms.hundredths)) / 10_000n)
      if (amount === 0n) return []
      const posting = await ledger.credit(tx, referrer, amount, source, 'share of a top-up', payment.id)
      return [{ kind: 'share', amount, posting: posting.seq, note: referrer }]
    },

    given,

    /** A payment takes its share along as soon as any of it goes back, as it does its bonus. */
    async takeBack(tx: Tx, payment: Payment): Promise<readonly Step[]> {
      const share = await given(tx, payment)
      if (!share) return []
      const { amount, referrer } = share
      const posting = await ledger.takeBack(tx, referrer, amount, source, 'share of a top-up taken back', payment.id)
      return [{ kind: 'share_back', amount: negate(amount), posting: posting.seq, note: referrer }]
    },

    set: (terms: store.ReferralTerms): Promise<void> => db.transact(async (tx) => store.writeTerms(tx, terms, clock())),

    terms: (): Promise<store.ReferralTerms | undefined> => store.findTerms(db),

    bring,

    /** The same in a transaction of its own, where nothing but success will do. */
    async add(customer: CustomerId, referrer: CustomerId): Promise<void> {
      const outcome = await db.transact((tx) => bring(tx, customer, referrer))
      if (outcome !== 'brought') throw refusals[outcome]()
    },

    async show(customer: CustomerId): Promise<ReferralSight> {
      const [terms, code] = [await offered(db), await store.findCode(db, customer)]
      return { terms, code, ...(await store.sumBrought(db, customer)) }
    },

    /** The code of a customer, made when he asks for it first. It is worth what the terms say, nothing as shipped. */
    makeCode: (customer: CustomerId): Promise<string> =>
      db.transact(async (tx) => {
        for (let tries = 0; tries < mostTries; tries += 1) {
          const known = await store.findCode(tx, customer)
          if (known !== undefined) return known
          const code = randomBase32(deps.random(codeLength)).toUpperCase()
          if (await store.insertCode(tx, customer, code, clock())) return code
        }
        throw new Error('no code is free')
      }),

    /** Who brings somebody with this code: `off` while nothing is given, undefined if nobody does. */
    async findReferrer(reader: Reader, text: string): Promise<CustomerId | 'off' | undefined> {
      if (!(await offered(reader))) return 'off'
      const code = readCode(text.trim())
      const referrer = code === undefined ? undefined : await store.findByCode(reader, code)
      // Whoever was shut out brings nobody any more.
      return referrer && (await deps.customers.isOpenIn(reader, referrer)) ? referrer : undefined
    },

    list: (limit: number) => store.listReferrals(db, limit),
  }
}
