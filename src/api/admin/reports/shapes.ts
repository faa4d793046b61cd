import { z } from '@hono/zod-openapi'
import { roubles, text, whole } from '../../fields.ts'
import { operation } from '../../operation.ts'
import { day } from '../fields.ts'

const tag = 'Reports'

const days = z.object({
  from: day('From this day on, UTC; 30 days ago unless said.').optional(),
  to: day('Up to this day, which is not in it; tomorrow unless said. At most 1000 days later.').optional(),
})

const date = () => text('The day, in UTC.', '2026-01-01')

export const reportDays = operation({
  id: 'reportDays',
  method: 'GET',
  path: '/reports/days',
  tag,
  summary: 'Turnover, refunds, top-ups and what customers still hold, by day',
  role: 'reader',
  query: days,
  answer: z.object({
    items: z
      .array(
        z.object({
          day: date(),
          turnover_rub: roubles('What was sold.', 1800),
          refunded_rub: roubles('What was given back of it.', 0),
          topped_up_rub: roubles('What came in.', 5000),
          taken_back_rub: roubles('What went out again.', 0),
          held_rub: roubles('What customers held at its end.', 3200),
        }),
      )
      .openapi({ description: 'Every day, the oldest first.' }),
  }),
  example: {
    items: [
      {
        day: '2026-01-01',
        turnover_rub: 1800,
        refunded_rub: 0,
        topped_up_rub: 5000,
        taken_back_rub: 0,
        held_rub: 3200,
      },
    ],
  },
})

export const reportProducts = operation({
  id: 'reportProducts',
  method: 'GET',
  path: '/reports/products',
  tag,
  summary: 'Turnover by day and product, and what was given back',
  role: 'reader',
  query: days,
  answer: z.object({
    items: z
      .array(
        z.object({
          day: date(),
          product: text('What was sold.', 'dedicated'),
          kind: text('`charge`, or `refund` for what was given back.', 'charge'),
          count: whole('How many movements.', 3),
          amount_rub: roubles('What it came to; below zero for what was given back.', 1800),
        }),
      )
      .openapi({ description: 'Every day on which something moved, the oldest first.' }),
  }),
  example: { items: [{ day: '2026-01-01', product: 'dedicated', kind: 'charge', count: 3, amount_rub: 1800 }] },
})

export const reportMethods = operation({
  id: 'reportMethods',
  method: 'GET',
  path: '/reports/methods',
  tag,
  summary: 'Top-ups, fees, refunds and bonuses, by day and method',
  role: 'reader',
  query: days,
  answer: z.object({
    items: z
      .array(
        z.object({
          day: date(),
          method: text('The way to pay.', 'card'),
          payments: whole('How many were credited.', 5),
          topped_up_rub: roubles('What they came to.', 5000),
          fees_rub: roubles('What was paid on top.', 125),
          taken_back_rub: roubles('What went back.', 0),
          bonuses_rub: roubles('What codes and referrals added.', 0),
        }),
      )
      .openapi({ description: 'Every day on which something moved, the oldest first.' }),
  }),
  example: {
    items: [
      {
        day: '2026-01-01',
        method: 'card',
        payments: 5,
        topped_up_rub: 5000,
        fees_rub: 125,
        taken_back_rub: 0,
        bonuses_rub: 0,
      },
    ],
  },
})
