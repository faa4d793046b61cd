import { items, roubles, text, whole } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { day } from '../fields.ts'

const operation = operationsOf({ tag: 'Reports', role: 'reader' })

const days = z.object({
  from: day('From this day on, UTC; 30 days ago unless said.').optional(),
  to: day('Up to this day, which is not in it; tomorrow unless said. At most 1000 days later.').optional(),
})

const date = () => text('The day, in UTC.', '2026-01-01')

export const reportDays = operation('reportDays', 'GET /reports/days', {
  summary: 'Turnover, refunds, top-ups and what customers still hold, by day',
  query: days,
  answer: items('Every day, the oldest first.', {
    day: date(),
    turnover_rub: roubles('What was sold.', 1800),
    refunded_rub: roubles('What was given back of it.', 0),
    topped_up_rub: roubles('What came in.', 5000),
    taken_back_rub: roubles('What went out again.', 0),
    held_rub: roubles('What customers held at its end.', 3200),
  }),
})

export const reportProducts = operation('reportProducts', 'GET /reports/products', {
  summary: 'Turnover by day and product, and what was given back',
  query: days,
  answer: items('Every day on which something moved, the oldest first.', {
    day: date(),
    product: text('What was sold.', 'dedicated'),
    kind: text('`charge`, or `refund` for what was given back.', 'charge'),
    count: whole('How many movements.', 3),
    amount_rub: roubles('What it came to; below zero for what was given back.', 1800),
  }),
})

export const reportMethods = operation('reportMethods', 'GET /reports/methods', {
  summary: 'Top-ups, fees, refunds and bonuses, by day and method',
  query: days,
  answer: items('Every day on which something moved, the oldest first.', {
    day: date(),
    method: text('The way to pay.', 'card'),
    payments: whole('How many were credited.', 5),
    topped_up_rub: roubles('What they came to.', 5000),
    fees_rub: roubles('What was paid on top.', 125),
    taken_back_rub: roubles('What went back.', 0),
    bonuses_rub: roubles('What codes and referrals added.', 0),
  }),
})
