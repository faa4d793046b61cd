import { z } from '@hono/zod-openapi'
import { toIso } from '../../../core/time.ts'
import { exampleAt, examplePayment, moment, text, whole } from '../../fields.ts'
import { operation } from '../../operation.ts'
import { day } from '../fields.ts'

const tag = 'Payments'

const comparison = z
  .object({
    state: z.enum(['never', 'running', 'done', 'failed']).openapi({ description: 'How it goes.' }),
    started_at: moment('When it was begun.').nullable(),
    ended_at: moment('When it was over.').nullable(),
    compared: whole('How many payments were compared.', 120),
    differences: z
      .array(
        z.object({
          provider: text('Whose list.', 'yookassa'),
          payment_id: text('Which payment here.', examplePayment).nullable(),
          provider_id: text('Which one there.').nullable(),
          problem: text('What differs.', 'paid at the provider, pending here'),
        }),
      )
      .openapi({ description: 'Each difference.' }),
    problem: text('Why it failed, if it did.').nullable(),
  })
  .openapi('Reconciliation')

export type Comparison = z.input<typeof comparison>

export const noComparison: Comparison = {
  state: 'never',
  started_at: null,
  ended_at: null,
  compared: 0,
  differences: [],
  problem: null,
}

export const startReconcile = operation({
  id: 'startReconcile',
  method: 'POST',
  path: '/payment-reconciliation',
  tag,
  summary: 'Compare payments with the providers’ own lists; ask `GET /payment-reconciliation` how it goes',
  role: 'support',
  isRead: true,
  body: z.object({
    from: day('Payments begun on or after this day.'),
    to: day('And before this day.'),
    provider: z
      .string()
      .max(40)
      .optional()
      .openapi({ description: 'Of one provider; of all that are set up unless said.' }),
  }),
  exampleBody: { from: '2026-01-01', to: '2026-02-01' },
  answer: comparison,
  example: { ...noComparison, state: 'running', started_at: toIso(exampleAt) },
  codes: ['not_found', 'conflict'],
})

export const getReconcile = operation({
  id: 'getReconcile',
  method: 'GET',
  path: '/payment-reconciliation',
  tag,
  summary: 'How the last comparison in this process goes, or what it has found',
  role: 'reader',
  answer: comparison,
  example: noComparison,
})
