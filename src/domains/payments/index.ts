import { bind } from '../../core/bind.ts'
import * as codes from './codes.ts'
import { adjustByHand } from './credit-by-hand.ts'
import { loadOwn, type PaymentDeps } from './deps.ts'
import { findNamed, markPaid, reconcile, reportMethods, resolve, showPayment } from './operate.ts'
import { begin, findOurs, payInSandbox, quote } from './pay.ts'
import { createProviders } from './providers.ts'
import { fulfilAll } from './purchases.ts'
import { addReferral, bring, findReferrer, makeReferralCode, setTerms, showReferrals } from './referrals.ts'
import { refund } from './refund.ts'
import * as store from './store.ts'
import { notify, pollDue } from './watch.ts'

export { createPaymentsVerifier } from './audit.ts'
export type { Buyer, EndedPurchase } from './deps.ts'
export type { Providers } from './providers.ts'
export type { PurchaseInput } from './purchases.ts'
export { askAgainAfterRestore } from './store.ts'

type Given = Omit<PaymentDeps, 'providers' | 'codeGuesses' | 'running'> & Parameters<typeof createProviders>[0]
type Bound = ReturnType<typeof createPayments>
export type Payments = Bound['payments']
export type PaymentOperator = Bound['paymentOperator']
export type PaymentWatch = Bound['paymentWatch']
export type Purchases = Bound['purchases']
export type PromoCodes = Bound['codes']
export type Referrals = Bound['referrals']
export type PaymentReports = Bound['paymentReports']

/** Binds the use cases of payments to their dependencies. */
export function createPayments(given: Given) {
  const { db, clock } = given
  const providers = createProviders(given)
  const codeGuesses = codes.createCodeGuesses(clock)
  const deps: PaymentDeps = { ...given, providers, codeGuesses, running: new Set() }
  return {
    providers,
    payments: {
      methods: () => providers.methods(),
      ...bind(deps, { quote, begin, load: loadOwn, findOurs, payInSandbox }),
      ...bind(db, { list: store.listOf }),
    },
    paymentWatch: bind(deps, { notify, pollDue }),
    purchases: bind(deps, { fulfilAll }),
    paymentOperator: {
      ...bind(deps, { show: showPayment, findNamed, adjust: adjustByHand, markPaid, refund, resolve, reconcile }),
      ...bind(db, { list: store.listAll, findMany: store.findMany, unmatched: store.listNotices }),
    },
    paymentReports: bind(deps, { methods: reportMethods }),
    codes: bind(deps, { add: codes.addCode, list: codes.listCodes, end: codes.endCode }),
    referrals: {
      ...bind(deps, { set: setTerms, bring, add: addReferral, show: showReferrals, makeCode: makeReferralCode }),
      ...bind(deps, { findReferrer }),
      ...bind(db, { terms: store.findTerms, list: store.listReferrals }),
    },
  }
}
