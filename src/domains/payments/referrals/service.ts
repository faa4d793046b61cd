import type { Database, Reader, Tx } from '../../../db/transaction.ts'
import type { CustomerId } from '../../../kernel/ids.ts'
import { type Kopecks, kopecks, negate } from '../../../kernel/money.ts'
import type { Clock } from '../../../kernel/time.ts'
import type { Ledger } from '../../ledger/index.ts'
import { broughtAlready, cameBefore } from '../errors.ts'
import type { Payment, Step } from '../rules.ts'
import { countPaid, findStep } from '../store.ts'
import * as store from './store.ts'

export type Referrals = ReturnType<typeof createReferrals>

const source = 'referral'

/** Customers who bring customers get a share of their first top-ups. Off until the operator says how much. */
export function createReferrals(deps: { db: Database; ledger: Ledger; clock: Clock }) {
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

  return {
    /**
     * The share of a payment that is being credited. Whoever brings was there before whom he brings, so accounts are
     * always locked from the newer to the older, and no two transactions wait for each other.
     */
    async give(tx: Tx, payment: Payment): Promise<readonly Step[]> {
      const terms = await store.findTerms(tx)
      if (!terms || terms.hundredths === 0) return []
      const referrer = await store.findReferrer(tx, payment.customer)
      if (!referrer || (await countPaid(tx, payment.customer)) >= terms.topUps) return []
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

    /** Says who brought a customer, once. */
    add: (customer: CustomerId, referrer: CustomerId): Promise<void> =>
      db.transact(async (tx) => {
        if (referrer >= customer) throw cameBefore()
        await ledger.lock(tx, customer)
        await ledger.lock(tx, referrer)
        if (!(await store.insertReferral(tx, customer, referrer, clock()))) throw broughtAlready()
      }),

    list: (limit: number) => store.listReferrals(db, limit),
  }
}
