import { choice, examplePayment, items, list, moment, named, roubles, text, whole } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'
import { customerName, day, exampleCustomer } from '../fields.ts'

const operation = operationsOf({ tag: 'Reports', role: 'reader', isWide: true })

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
      'Payment method; `operator` for credits and debits by operators, and for the first credit of a sandbox.',
      'card',
    ),
    payments: whole('Payments or credits.', 5),
    topped_up_rub: roubles('Sum of credited payments.', 5000),
    fees_rub: roubles('Fees paid on top.', 125),
    taken_back_rub: roubles('Refunds and chargebacks.', 0),
    bonuses_rub: roubles('Bonuses from promo codes and referrals.', 0),
  }),
})

const fundingRow = named('FundingRow', {
  at: moment('Time of the movement.'),
  customer_id: text('The customer’s id.', exampleCustomer),
  customer_name: customerName,
  transaction: whole('Number of the transaction in the customer’s account.', 1),
  kind: choice('`credit`: to the balance; `debit`: from it, such as a refund to the payer.', ['credit', 'debit']),
  source: text(
    'Payment provider, `operator` for credits and debits by operators, `bonus` or `referral` for gifts of the shop, ' +
      '`sandbox` in a sandbox.',
    'yookassa',
  ),
  payment_id: text('The payment; null if there is none.', examplePayment).nullable(),
  provider_id: text('Id of the payment at the provider; null if there is none.').nullable(),
  method: text('Payment method; null if there is no payment.', 'card').nullable(),
  amount_rub: roubles('Amount; negative for a debit.', 1000),
  fee_rub: roubles('Fee that the payer paid on top of this credit.', 25),
  reference: text('Reference number at your bank, of a credit or debit by an operator.').nullable(),
  note: text('Note.', 'top-up'),
})

export const reportPayments = operation('reportPayments', 'GET /reports/payments', {
  summary: 'Report every movement between the shop and the outside, by payment, of all customers, oldest first',
  description:
    'For bookkeepers. The sum of `amount_rub` is `topped_up_rub` minus `taken_back_rub` of `reportDays`, of the same ' +
    'days. Fees are not on balances and in none of these sums.',
  query: z.object({ ...pageQuery, ...days.shape }),
  answer: page({ items: list('One page of movements.', fundingRow) }),
})
