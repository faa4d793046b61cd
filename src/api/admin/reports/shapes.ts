import { items, roubles, text, whole } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { day } from '../fields.ts'

const operation = operationsOf({ tag: 'Reports', role: 'reader' })

const days = z.object({
  from: day('First day, UTC. Default: 30 days ago.').optional(),
  to: day('End, exclusive, UTC, at most 1000 days after `from`. Default: tomorrow.').optional(),
})

const date = () => text('The day, in UTC.', '2026-01-01')

export const reportDays = operation('reportDays', 'GET /reports/days', {
  summary: 'Report sales, refunds, top-ups and the sum of customers’ balances, by day',
  query: days,
  answer: items('All days, oldest first.', {
    day: date(),
    turnover_rub: roubles('Gross sales: charges.', 1800),
    refunded_rub: roubles('Refunds of charges.', 0),
    topped_up_rub: roubles('Credits to balances.', 5000),
    taken_back_rub: roubles('Debits from balances.', 0),
    held_rub: roubles('Sum of all balances at the end of the day.', 3200),
    revenue_rub: roubles('Net revenue: `turnover_rub` minus `refunded_rub`, as in `getOverview`.', 1800),
  }),
})

export const reportProducts = operation('reportProducts', 'GET /reports/products', {
  summary: 'Report sales and refunds by day and product',
  query: days,
  answer: items('Days with transactions, oldest first.', {
    day: date(),
    product: text('Product.', 'dedicated'),
    kind: text('`charge` or `refund`.', 'charge'),
    count: whole('Number of transactions.', 3),
    amount_rub: roubles('Sum; negative for refunds.', 1800),
  }),
})

export const reportMethods = operation('reportMethods', 'GET /reports/methods', {
  summary: 'Report top-ups, fees, refunds and bonuses by day and payment method',
  query: days,
  answer: items('Days with transactions, oldest first.', {
    day: date(),
    method: text(
      'Payment method; `operator` for credits and debits by operators, `sandbox` for those of a sandbox.',
      'card',
    ),
    payments: whole('Payments or credits.', 5),
    topped_up_rub: roubles('Sum of credited payments.', 5000),
    fees_rub: roubles('Fees paid on top.', 125),
    taken_back_rub: roubles('Refunds and chargebacks.', 0),
    bonuses_rub: roubles('Bonuses from promo codes and referrals.', 0),
  }),
})
