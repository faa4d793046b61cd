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
  terms: part('What bringing a customer is worth; null while nothing is given for it.', {
    percent: z.number().openapi({ description: 'Which part of each of these top-ups you get.', example: 5 }),
    top_ups: whole('Of how many first top-ups of each customer.', 3),
  }).nullable(),
  code: text('Your code; null before you asked for one.', exampleCode).nullable(),
  link: text(
    'Your code as a link by which newcomers sign up; null before you asked for one, and where customers do not ' +
      'sign up by themselves: then tell the seller your code.',
    `https://shop.example.net/?ref=${exampleCode}`,
  ).nullable(),
  brought: whole('How many customers you have brought.', 2),
  earned_rub: roubles('What their top-ups have brought you, less what went back.', 75),
})

const getReferral = operation('getReferral', 'GET /referral', {
  summary: 'Your referral link, what it is worth and what it has brought',
  answer: referral,
})

const makeReferralCode = operation('makeReferralCode', 'POST /referral', {
  summary: 'Get a referral link of your own; asked for again, it is the same one',
  description: 'You get one while nothing is given for it, too: `terms` says what it is worth.',
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
