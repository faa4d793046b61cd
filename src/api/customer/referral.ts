import type { CustomerId } from '../../core/ids.ts'
import { toRoubles } from '../../core/money.ts'
import type { Referrals } from '../../domains/payments/index.ts'
import type { Registration } from '../../domains/signin/index.ts'
import { type Bound, bind } from '../bind.ts'
import { named, part, roubles, text, whole } from '../fields.ts'
import { operationsOf, z } from '../operation.ts'

const operation = operationsOf({ tag: 'Referrals' })
const exampleCode = '7KQ2M9XV'

const referral = named('Referral', {
  terms: part('Terms of the referral reward; null while no reward is paid.', {
    percent: z.number().openapi({ description: 'Reward in percent of a top-up.', example: 5 }),
    top_ups: whole('Number of first top-ups of each referred customer that earn a reward.', 3),
  }).nullable(),
  code: text('Your referral code; null until you create one.', exampleCode).nullable(),
  link: text(
    'Sign-up link with your code; null until you create a code, and in shops where customers cannot register ' +
      'themselves: there, new customers give your code to the seller.',
    `https://shop.example.net/?ref=${exampleCode}`,
  ).nullable(),
  brought: whole('Number of customers you have referred.', 2),
  earned_rub: roubles('Rewards earned from their top-ups, minus rewards of returned payments.', 75),
})

export const getReferral = operation('getReferral', 'GET /referral', {
  summary: 'Read your referral link, its terms and earnings',
  answer: referral,
})

export const makeReferralCode = operation('makeReferralCode', 'POST /referral', {
  summary: 'Create your referral code and link',
  description:
    'A repeated request returns the same code. You can create a code even while no reward is paid; see `terms`.',
  answer: referral,
})

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
