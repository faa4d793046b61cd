import type { CustomerId } from '../../core/ids.ts'
import { type Kopecks, negate, toRoubles } from '../../core/money.ts'
import { Refusal, refuseField } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import { createTokenBuckets, secondsUntilOne, type TokenBucketRate } from '../../core/token-buckets.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import { noteIfLow, type PaymentDeps } from './deps.ts'
import {
  bonusOf,
  isOpen,
  type Payment,
  type PaymentChange,
  type PaymentStep,
  type PromoCode,
  readCode,
  whyNot,
} from './rules.ts'
import * as store from './store.ts'

const source = 'bonus'
/** Codes are words that could be guessed: a customer has 20 wrong ones at once, and 20 an hour. */
const mistakes: TokenBucketRate = { perSecond: 20 / 3600, burst: 20 }

const problems = {
  unknown: 'promo_code_unknown',
  over: 'promo_code_over',
  'used up': 'promo_code_used_up',
  'used before': 'promo_code_used',
  'too little': 'promo_code_larger',
} as const

const refuseCode = (why: keyof typeof problems, least?: Kopecks): Refusal =>
  why === 'too little' && least
    ? refuseField('code', 'promo_code_minimum', { min_rub: toRoubles(least) })
    : refuseField('code', problems[why])

export const createCodeGuesses = (clock: Clock) => createTokenBuckets(mistakes, clock)

/** After too many wrong codes, even a right one is refused, so that guessing tells nothing. */
async function unlessGuessing<Found>(
  { codeGuesses }: PaymentDeps,
  customer: CustomerId,
  find: () => Promise<Found | undefined>,
): Promise<Found> {
  if (!codeGuesses.take(customer)) {
    const retryAfterSeconds = secondsUntilOne(mistakes, codeGuesses.level(customer))
    throw new Refusal('promo_code_attempts', {}, { charged: false }, retryAfterSeconds)
  }
  const found = await find()
  if (found === undefined) throw refuseCode('unknown')
  codeGuesses.give(customer)
  return found
}

async function judge({ clock }: PaymentDeps, reader: Reader, code: PromoCode, customer: CustomerId, amount: Kopecks) {
  const used = await store.countUses(reader, code.code, '')
  const usedByCustomer = await store.countUses(reader, code.code, customer)
  return { code, why: whyNot(code, { amount, used, usedByCustomer, nowMs: clock() }) }
}

async function judgeLocked(deps: PaymentDeps, tx: Tx, name: string, customer: CustomerId, amount: Kopecks) {
  const code = await store.lockCode(tx, name)
  return code && judge(deps, tx, code, customer, amount)
}

/** What a code that was found adds; throws if it adds nothing. */
function bonusIn(found: Awaited<ReturnType<typeof judge>>, amount: Kopecks): { code: string; bonus: Kopecks } {
  if (found.why) throw refuseCode(found.why, found.code.least)
  return { code: found.code.code, bonus: bonusOf(found.code, amount) }
}

/** What a code adds to a payment that begins now. Open payments count as uses until they expire. */
export async function promiseBonus(deps: PaymentDeps, tx: Tx, customer: CustomerId, text: string, amount: Kopecks) {
  const name = readCode(text)
  const find = async () => (name === undefined ? undefined : judgeLocked(deps, tx, name, customer, amount))
  return bonusIn(await unlessGuessing(deps, customer, find), amount)
}

/** What a code would add now, without a promise. */
export async function quoteBonus(deps: PaymentDeps, customer: CustomerId, text: string, amount: Kopecks) {
  const name = readCode(text)
  const find = async () => (name === undefined ? undefined : store.findCode(deps.db, name))
  const code = await unlessGuessing(deps, customer, find)
  return bonusIn(await judge(deps, deps.db, code, customer, amount), amount).bonus
}

/** Gives the promised bonus; for a payment that came late, only if the code still adds something. */
export async function giveBonus(deps: PaymentDeps, tx: Tx, payment: Payment): Promise<readonly PaymentStep[]> {
  const { code, bonus, customer, id } = payment
  if (code === null) return []
  const again = isOpen(payment.state) ? undefined : await judgeLocked(deps, tx, code, customer, payment.amount)
  if (again?.why) return []
  const posting = await deps.ledger.credit(tx, customer, bonus, source, `code ${code}`, id)
  return [{ kind: 'bonus', amount: bonus, posting: posting.seq, note: code }]
}

/** The bonus that a payment has brought, unless it was returned. */
export async function givenBonus(reader: Reader, { code, id }: Payment): Promise<PaymentChange | undefined> {
  if (code === null || (await store.findStep(reader, id, 'bonus_back'))) return undefined
  return store.findStep(reader, id, 'bonus')
}

/** Debits the whole bonus as soon as any of the payment goes back: else a refund of all but a kopeck would keep it. */
export async function returnBonus(deps: PaymentDeps, tx: Tx, payment: Payment): Promise<readonly PaymentStep[]> {
  const bonus = await givenBonus(tx, payment)
  if (!bonus) return []
  const { amount, note } = bonus
  const { customer, id } = payment
  const posting = await deps.ledger.chargeback(tx, customer, amount, source, `code ${note} taken back`, id)
  await noteIfLow(deps, tx, posting)
  return [{ kind: 'bonus_back', amount: negate(amount), posting: posting.seq, note }]
}

export const addCode = ({ db, clock }: PaymentDeps, code: Omit<PromoCode, 'createdAt' | 'endedAt'>): Promise<void> =>
  db.transact(async (tx) => {
    const isAdded = await store.insertCode(tx, { ...code, createdAt: clock(), endedAt: null })
    if (!isAdded) throw new Refusal('promo_code_exists', { code: code.code })
  })

export async function listCodes({ db }: PaymentDeps, limit: number) {
  const codes = await store.listCodes(db, limit)
  return Promise.all(codes.map(async (code) => ({ ...code, used: await store.countUses(db, code.code, '') })))
}

/** Ends a code for new payments. Promised bonuses are still given. */
export const endCode = ({ db, clock }: PaymentDeps, code: string): Promise<void> =>
  db.transact(async (tx) => {
    if (!(await store.endCode(tx, code, clock()))) throw new Refusal('code_not_found')
  })
