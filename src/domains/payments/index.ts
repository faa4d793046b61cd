import * as codes from './codes.ts'
import { loadOwn, type PaymentDeps } from './deps.ts'
import * as operate from './operate.ts'
import { begin, findOurs, payInSandbox, quote } from './pay.ts'
import { createProviders } from './providers.ts'
import { fulfil, fulfilAll } from './purchases.ts'
import * as referrals from './referrals.ts'
import { refund } from './refund.ts'
import type { Payment } from './rules.ts'
import * as store from './store.ts'
import { lookAgain, notify } from './watch.ts'

export { createPaymentsVerifier } from './audit.ts'
export type { Buyer } from './deps.ts'
export type { Providers } from './providers.ts'
export type { PurchaseInput } from './purchases.ts'

type Given = Omit<PaymentDeps, 'providers' | 'purchases' | 'codeGuesses' | 'running'> &
  Parameters<typeof createProviders>[0]
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
  const purchases = {
    fulfil: (payment: Payment): Promise<void> => fulfil(deps, payment),
    fulfilAll: (max: number): Promise<number> => fulfilAll(deps, max),
  }
  const codeGuesses = codes.createCodeGuesses(clock)
  const deps: PaymentDeps = { ...given, providers, purchases, codeGuesses, running: new Set() }
  return {
    providers,
    payments: {
      methods: () => providers.methods(),
      quote: quote.bind(null, deps),
      begin: begin.bind(null, deps),
      list: store.listOf.bind(null, db),
      load: loadOwn.bind(null, deps),
      findOurs: findOurs.bind(null, deps),
      payInSandbox: payInSandbox.bind(null, deps),
    },
    paymentWatch: { notify: notify.bind(null, deps), lookAgain: lookAgain.bind(null, deps) },
    purchases,
    paymentOperator: {
      list: store.listAll.bind(null, db),
      show: operate.showPayment.bind(null, deps),
      markPaid: operate.markPaid.bind(null, deps),
      refund: refund.bind(null, deps),
      unmatched: store.listNotices.bind(null, db),
      resolve: operate.resolve.bind(null, deps),
      reconcile: operate.reconcile.bind(null, deps),
    },
    paymentReports: { methods: operate.reportMethods.bind(null, deps) },
    codes: {
      add: codes.addCode.bind(null, deps),
      list: codes.listCodes.bind(null, deps),
      end: codes.endCode.bind(null, deps),
    },
    referrals: {
      set: referrals.setTerms.bind(null, deps),
      terms: () => store.findTerms(db),
      bring: referrals.bring.bind(null, deps),
      add: referrals.addReferral.bind(null, deps),
      show: referrals.showReferrals.bind(null, deps),
      makeCode: referrals.makeReferralCode.bind(null, deps),
      findReferrer: referrals.findReferrer.bind(null, deps),
      list: store.listReferrals.bind(null, db),
    },
  }
}
