import type { CustomerId } from '../../../core/ids.ts'
import { toRoubles } from '../../../core/money.ts'
import type { Referrals } from '../../../domains/payments/index.ts'
import type { Registration } from '../../../domains/signin/index.ts'
import { type Bound, bind } from '../../bind.ts'
import { getReferral, makeReferralCode } from './shapes.ts'

export function referralOperations(deps: {
  referrals: Referrals
  registration: Pick<Registration, 'offers'>
  publicUrl: () => string
}): readonly Bound[] {
  const { referrals } = deps
  const show = async (customer: CustomerId) => {
    const { terms, code, brought, earned } = await referrals.show(customer)
    const isOpen = code !== undefined && deps.registration.offers.registration
    return {
      terms: terms ? { percent: terms.hundredths / 100, top_ups: terms.topUps } : null,
      code: code ?? null,
      link: isOpen ? `${deps.publicUrl()}/?ref=${code}` : null,
      brought,
      earned_rub: toRoubles(earned),
    }
  }
  return [
    bind(getReferral, ({ caller }) => show(caller.customer)),
    bind(makeReferralCode, async ({ caller }) => {
      await referrals.makeCode(caller.customer)
      return show(caller.customer)
    }),
  ]
}
