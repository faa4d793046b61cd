import { z } from '@hono/zod-openapi'
import { toRoubles } from '../../../core/money.ts'
import { toIso } from '../../../core/time.ts'
import { type Code, readCode } from '../../../domains/payments/rules.ts'
import { bodyInteger, exampleAt, flag, moment, pageQuery, roubles, text, whole } from '../../fields.ts'
import { operation } from '../../operation.ts'
import { amount, exampleCustomer, instant, isoOrNull, percent, words } from '../fields.ts'

const tag = 'Codes and referrals'

const code = z
  .object({
    name: text('The code, as customers type it.', 'SPRING'),
    amount_rub: roubles('How much it adds; null if it adds a part.', 100).nullable(),
    percent: z.number().nullable().openapi({ description: 'Which part of the top-up it adds.', example: 10 }),
    least_rub: roubles('The least top-up that it adds to.', 0),
    uses: whole('How often in all; null without a bound.', 100).nullable(),
    used: whole('How often it was used.', 0),
    until: moment('Until when; null without an end.').nullable(),
    ended_at: moment('When it was ended; null if it was not.').nullable(),
    note: text('What it is for.'),
  })
  .openapi('Code')

const example = {
  name: 'SPRING',
  amount_rub: null,
  percent: 10,
  least_rub: 0,
  uses: 100,
  used: 0,
  until: null,
  ended_at: null,
  note: 'code',
}

export const toCode = (of: Code & { readonly used: number }): z.input<typeof code> => ({
  name: of.code,
  amount_rub: of.kind === 'amount' ? Number(of.value) / 100 : null,
  percent: of.kind === 'percent' ? Number(of.value) / 100 : null,
  least_rub: toRoubles(of.least),
  uses: of.uses,
  used: of.used,
  until: isoOrNull(of.untilAt),
  ended_at: isoOrNull(of.endedAt),
  note: of.note,
})

export const listCodes = operation({
  id: 'listCodes',
  method: 'GET',
  path: '/codes',
  tag,
  summary: 'List codes that add to top-ups, newest first, and how often each was used',
  role: 'reader',
  query: z.object({ limit: pageQuery.limit }),
  answer: z.object({ items: z.array(code).openapi({ description: 'The newest so many.' }) }),
  example: { items: [example] },
})

/** Called `name` and not `code`: the audit log leaves out what is called that, for codes of second factors. */
const codeName = z
  .string()
  .refine((value) => readCode(value) !== undefined, 'must be 3 to 40 letters, digits, - and _')
  .openapi({ description: 'The code, in any case.', example: 'SPRING' })

export const addCode = operation({
  id: 'addCode',
  method: 'POST',
  path: '/codes',
  tag,
  summary: 'Make a code that adds to top-ups, once for each customer',
  description: 'It adds an amount or a part: say one of `amount_rub` and `percent`.',
  role: 'support',
  body: z.object({
    name: codeName,
    amount_rub: amount('How much it adds.').optional(),
    percent: percent('Which part of the top-up it adds.', 10).min(0.01, 'must be more than nothing').optional(),
    least_rub: amount('Only to a top-up of at least so much.').optional(),
    uses: bodyInteger({ min: 1, max: 1_000_000_000, example: 100, description: 'How often in all.' }).optional(),
    until: instant('Until when.').optional(),
    note: words('What it is for; only operators see it.', 500, 'code').default('code').openapi({ default: 'code' }),
  }),
  exampleBody: { name: 'SPRING', percent: 10 },
  answer: z.object({ name: text('The code.', 'SPRING') }),
  example: { name: 'SPRING' },
  codes: ['conflict'],
})

export const endCode = operation({
  id: 'endCode',
  method: 'POST',
  path: '/codes/{name}/end',
  tag,
  summary: 'End a code; what was promised with it before is given',
  role: 'support',
  params: z.object({ name: z.string().openapi({ description: 'The code, in any case.', example: 'SPRING' }) }),
  answer: z.object({ name: text('The code.', 'SPRING'), ended: flag('Whether it has ended.') }),
  example: { name: 'SPRING', ended: true },
  codes: ['not_found'],
})

const referralTerms = z.object({
  percent: z.number().openapi({ description: 'Which part of each of these top-ups.', example: 5 }),
  top_ups: whole('Of how many top-ups.', 3),
})

export const listReferrals = operation({
  id: 'listReferrals',
  method: 'GET',
  path: '/referrals',
  tag,
  summary: 'List who brought whom, newest first, and what that is worth',
  role: 'reader',
  query: z.object({ limit: pageQuery.limit }),
  answer: z.object({
    terms: referralTerms.nullable().openapi({ description: 'Null while nothing was ever set.' }),
    items: z
      .array(
        z.object({
          customer_id: text('Who was brought.', exampleCustomer),
          referrer_id: text('Who has brought him.'),
          at: moment('When that was said.'),
        }),
      )
      .openapi({ description: 'The newest so many.' }),
  }),
  example: {
    terms: { percent: 5, top_ups: 3 },
    items: [{ customer_id: exampleCustomer, referrer_id: 'cus_01k73se9000000000000000000', at: toIso(exampleAt) }],
  },
})

export const setReferralTerms = operation({
  id: 'setReferralTerms',
  method: 'POST',
  path: '/referrals/terms',
  tag,
  summary: 'Say how much whoever brought a customer gets of his first top-ups; 0 is off',
  role: 'owner',
  body: z.object({
    percent: percent('Which part of each of these top-ups.', 5),
    top_ups: bodyInteger({ min: 1, max: 1000, example: 3, description: 'Of how many.' })
      .default(1)
      .openapi({ default: 1 }),
  }),
  exampleBody: { percent: 5 },
  answer: referralTerms,
  example: { percent: 5, top_ups: 1 },
})

export const addReferral = operation({
  id: 'addReferral',
  method: 'POST',
  path: '/referrals',
  tag,
  summary: 'Say who brought a customer, once and for good',
  role: 'support',
  body: z.object({
    customer_id: z.string().max(64).openapi({ description: 'Who was brought.', example: exampleCustomer }),
    referrer_id: z
      .string()
      .max(64)
      .openapi({ description: 'Who was a customer before.', example: 'cus_01k73se9000000000000000000' }),
  }),
  exampleBody: { customer_id: exampleCustomer, referrer_id: 'cus_01k73se9000000000000000000' },
  answer: z.object({ customer_id: text('Who was brought.'), referrer_id: text('Who has brought him.') }),
  example: { customer_id: exampleCustomer, referrer_id: 'cus_01k73se9000000000000000000' },
  codes: ['not_found', 'conflict'],
})
