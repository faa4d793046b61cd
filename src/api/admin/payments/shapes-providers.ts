import { z } from '@hono/zod-openapi'
import { toIso } from '../../../core/time.ts'
import { exampleAt, flag, moment, roubles, text } from '../../fields.ts'
import { operation } from '../../operation.ts'
import { amount, percent } from '../fields.ts'

const tag = 'Payment providers'

const terms = z.object({
  method: text('The method.', 'card'),
  min_rub: roubles('The least that is paid by it.', 50),
  max_rub: roubles('The most.', 350_000),
  fee_percent: z.number().openapi({ description: 'What customers pay on top, in percent.', example: 2.5 }),
})

const provider = z
  .object({
    name: text('The provider.', 'yookassa'),
    state: z.enum(['not_set_up', 'enabled', 'disabled']).openapi({ description: 'Whether its methods are offered.' }),
    settings: z
      .record(z.string(), z.string())
      .openapi({ description: 'What it was told, without its secret.', example: { shop_id: '100500' } }),
    wants: z
      .array(
        z.object({
          name: text('The setting.', 'shop_id'),
          meaning: text('What it is.'),
          required: flag('Whether it must be said.'),
        }),
      )
      .openapi({ description: 'What it wants to know.' }),
    wants_secret: flag('Whether it has a secret.'),
    methods: z.array(terms).openapi({ description: 'Its methods that customers have while it is enabled.' }),
    health: z
      .object({
        answered_at: moment('When it last did what it was asked; null if it never did.').nullable(),
        failed_at: moment('When it last did not; null if that never was.').nullable(),
        failure: z
          .enum(['refused', 'unavailable'])
          .nullable()
          .openapi({ description: 'How it failed then: it said no, or nothing that makes sense came back.' }),
      })
      .nullable()
      .openapi({
        description: 'How it has answered this process since it was started; null where nobody outside is asked.',
      }),
  })
  .openapi('PaymentProvider')

const example = {
  name: 'yookassa',
  state: 'enabled' as const,
  settings: { shop_id: '100500' },
  wants: [{ name: 'shop_id', meaning: 'the number of the shop', required: true }],
  wants_secret: true,
  methods: [{ method: 'card', min_rub: 50, max_rub: 350_000, fee_percent: 2.5 }],
  health: { answered_at: toIso(exampleAt), failed_at: null, failure: null },
}

export type ProviderSight = z.input<typeof provider>

export const listProviders = operation({
  id: 'listProviders',
  method: 'GET',
  path: '/payment-providers',
  tag,
  summary: 'List payment providers, what each wants to know, and which are set up',
  role: 'reader',
  answer: z.object({ items: z.array(provider).openapi({ description: 'All that there are.' }) }),
  example: { items: [example] },
})

const providerParam = z.object({
  name: z.string().max(40).openapi({ description: "The provider's name.", example: 'yookassa' }),
})

const name = z.string().regex(/^[a-z_]{1,40}$/, 'must be small letters and _')

export const setProvider = operation({
  id: 'setProvider',
  method: 'POST',
  path: '/payment-providers/{name}',
  tag,
  summary: 'Set a payment provider up, or change what was set; what is not said stays as it was',
  description: 'Its secret is sealed, and neither an answer nor the audit log ever has it. It is enabled with this.',
  role: 'owner',
  params: providerParam,
  body: z.object({
    settings: z
      .record(name, z.string().max(200))
      .default({})
      .openapi({ description: 'What it wants to know.', example: { shop_id: '100500' } }),
    secret: z.string().max(1000).optional().openapi({ description: 'Its secret.', format: 'password' }),
    methods: z
      .array(name)
      .max(20)
      .optional()
      .openapi({ description: 'Which of its methods customers have; all unless ever said.', example: ['card'] }),
    min_rub: z
      .record(name, amount('The least.'))
      .default({})
      .openapi({ description: 'The least that is paid, by method.', example: { card: 50 } }),
    max_rub: z
      .record(name, amount('The most.'))
      .default({})
      .openapi({ description: 'The most that is paid, by method.', example: { card: 100_000 } }),
    fee_percent: z
      .record(name, percent('The fee.', 2.5))
      .default({})
      .openapi({ description: 'What customers pay on top, by method, in percent.', example: { card: 2.5 } }),
  }),
  exampleBody: { settings: { shop_id: '100500' }, secret: 'live_…' },
  answer: provider,
  example,
  codes: ['not_found'],
})

const switching = (verb: 'enable' | 'disable', summary: string) =>
  operation({
    id: `${verb}Provider`,
    method: 'POST',
    path: `/payment-providers/{name}/${verb}`,
    tag,
    summary,
    role: 'owner',
    params: providerParam,
    answer: provider,
    example: { ...example, state: verb === 'enable' ? 'enabled' : 'disabled' },
    codes: ['not_found'],
  })

export const enableProvider = switching('enable', "Offer a provider's methods again")
export const disableProvider = switching(
  'disable',
  "Take a provider's methods off; what customers have begun to pay goes on",
)
