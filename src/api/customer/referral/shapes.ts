import { z } from '@hono/zod-openapi'
import { named, part, roubles, text, whole } from '../../fields.ts'
import { operationsOf } from '../../operation.ts'

const operation = operationsOf({ tag: 'Referrals' })
const exampleCode = '7KQ2M9XV'
const exampleLink = `https://shop.example.net/?ref=${exampleCode}`

const referral = named('Referral', {
  terms: part('What bringing a customer is worth; null while nothing is given for it.', {
    percent: z.number().openapi({ description: 'Which part of each of these top-ups you get.', example: 5 }),
    top_ups: whole('Of how many first top-ups of each customer.', 3),
  }).nullable(),
  code: text('Your code; null before you asked for one.', exampleCode).nullable(),
  link: text(
    'Your code as a link by which newcomers sign up; null before you asked for one, and where customers do not ' +
      'sign up by themselves: then tell the seller your code.',
    exampleLink,
  ).nullable(),
  brought: whole('How many customers you have brought.', 2),
  earned_rub: roubles('What their top-ups have brought you, less what went back.', 75),
})

export const getReferral = operation('getReferral', 'GET /referral', {
  summary: 'Your referral link, what it is worth and what it has brought',
  answer: referral,
})

export const makeReferralCode = operation('makeReferralCode', 'POST /referral', {
  summary: 'Get a referral link of your own; asked for again, it is the same one',
  description: 'You get one while nothing is given for it, too: `terms` says what it is worth.',
  answer: referral,
})
