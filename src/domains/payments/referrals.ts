import { randomBase32 } from '../../core/base32.ts'
import type { CustomerId } from '../../core/ids.ts'
import { kopecks, negate } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import { noteIfLow, type PaymentDeps } from './deps.ts'
import { type Payment, type PaymentStep, type ReferralTerms, readCode } from './rules.ts'
import * as store from './store.ts'

const source = 'referral'
/** 40 random bits, short enough to be dictated. */
const codeLength = 8
const maxTries = 5

const refusals = {
  himself: 'referrer_is_customer',
  earlier: 'referrer_is_newer',
  again: 'referrer_already_set',
} as const

/** The terms while the share is more than nothing. */
async function findOffer(reader: Reader): Promise<ReferralTerms | undefined> {
  const terms = await store.findTerms(reader)
  return terms && terms.hundredths > 0 ? terms : undefined
}

/**
 * Gives the referrer a share of a payment that is being credited. A referrer is older than the customer, so accounts
 * are always locked from the newer to the older, without deadlocks.
 */
export async function giveShare(deps: PaymentDeps, tx: Tx, payment: Payment): Promise<readonly PaymentStep[]> {
  const { customers, ledger } = deps
  const terms = await findOffer(tx)
  if (!terms) return []
  const referrer = await store.findReferrer(tx, payment.customer)
  if (!referrer || (await store.countPaid(tx, payment.customer)) >= terms.topUps) return []
  // A blocked or erased referrer gets nothing more.
  if (!(await customers.isOpenIn(tx, referrer))) return []
  const amount = kopecks((payment.amount * BigInt(terms.hundredths)) / 10_000n)
  if (amount === 0n) return []
  const posting = await ledger.credit(tx, referrer, amount, source, 'share of a top-up', payment.id)
  return [{ kind: 'share', amount, posting: posting.seq, note: referrer }]
}

/** The share that a payment has given to the referrer, unless it was returned. */
export async function givenShare(reader: Reader, { id, customer }: Payment) {
  const isReturned = await store.findStep(reader, id, 'share_back')
  const step = isReturned ? undefined : await store.findStep(reader, id, 'share')
  const referrer = step && (await store.findReferrer(reader, customer))
  return step && referrer && { amount: step.amount, referrer }
}

/** Debits the whole share as soon as any of the payment goes back, as `returnBonus` does. */
export async function returnShare(deps: PaymentDeps, tx: Tx, payment: Payment): Promise<readonly PaymentStep[]> {
  const share = await givenShare(tx, payment)
  if (!share) return []
  const { amount, referrer } = share
  const posting = await deps.ledger.chargeback(tx, referrer, amount, source, 'share of a top-up taken back', payment.id)
  await noteIfLow(deps, tx, posting)
  return [{ kind: 'share_back', amount: negate(amount), posting: posting.seq, note: referrer }]
}

export const setTerms = ({ db, clock }: PaymentDeps, terms: ReferralTerms): Promise<void> =>
  db.transact(async (tx) => store.writeTerms(tx, terms, clock()))

/**
 * Records a customer's referrer, once, in the caller's transaction: not the customer, nor one who came later. Ids order
 * customers by age; with clocks that differ, a newcomer may be the older one and then has no referrer.
 */
export async function bring({ ledger, clock }: PaymentDeps, tx: Tx, customer: CustomerId, referrer: CustomerId) {
  if (referrer === customer) return 'himself'
  if (referrer > customer) return 'earlier'
  await ledger.lock(tx, customer)
  await ledger.lock(tx, referrer)
  return (await store.insertReferral(tx, customer, referrer, clock())) ? 'brought' : 'again'
}

/** `bring` in a transaction of its own; throws unless the referrer was recorded. */
export async function addReferral(deps: PaymentDeps, customer: CustomerId, referrer: CustomerId): Promise<void> {
  const outcome = await deps.db.transact((tx) => bring(deps, tx, customer, referrer))
  if (outcome !== 'brought') throw new Refusal(refusals[outcome])
}

/** What a referrer sees. Without `terms`, shares are not given. */
export async function showReferrals({ db }: PaymentDeps, customer: CustomerId) {
  const [terms, code] = [await findOffer(db), await store.findReferralCode(db, customer)]
  return { terms, code, ...(await store.sumBrought(db, customer)) }
}

/** The referral code of a customer, made on first use. */
export const makeReferralCode = ({ db, random, clock }: PaymentDeps, customer: CustomerId): Promise<string> =>
  db.transact(async (tx) => {
    for (let tries = 0; tries < maxTries; tries += 1) {
      const known = await store.findReferralCode(tx, customer)
      if (known !== undefined) return known
      const code = randomBase32(random(codeLength)).toUpperCase()
      if (await store.insertReferralCode(tx, customer, code, clock())) return code
    }
    throw new Error('no code is free')
  })

/** The customer whose referral code this is: `off` while no share is given, undefined for an unknown or blocked one. */
export async function findReferrer({ customers }: PaymentDeps, reader: Reader, text: string) {
  if (!(await findOffer(reader))) return 'off'
  const code = readCode(text.trim())
  const referrer = code === undefined ? undefined : await store.findByReferralCode(reader, code)
  return referrer && (await customers.isOpenIn(reader, referrer)) ? referrer : undefined
}
