import { z } from '@hono/zod-openapi'
import { toIso } from '../../../core/time.ts'
import { exampleAt, moment, queryInteger, roubles, text, whole } from '../../fields.ts'
import { operation } from '../../operation.ts'
import { told } from '../fields.ts'

const tag = 'Price list'

const changes = () =>
  z.array(text('A leaf: `- path: old`, `~ path: old -> new` or `+ path: new`.', '+ vpn.months.1: 300')).openapi({
    description: 'What it changes.',
  })

const effect = z.object({
  product: z.enum(['dedicated', 'premium', 'vpn']).openapi({ description: 'Which product.', example: 'vpn' }),
  country: text('Of which country, for dedicated proxies.', 'DE').nullable(),
  ipv: whole('Of which kind, for dedicated proxies.', 4).nullable(),
  pool: text('Of which pool, for premium traffic.', 'residential').nullable(),
  customers: whole('How many customers have some of it now.', 12),
  services: whole('How many proxies, subscriptions, or sub-users with unspent traffic that is.', 30),
  renewals: whole('How many of these renew themselves.', 8),
  before_rub: roubles('What the next renewal of each costs together, by the list in force.', 2400),
  after_rub: roubles('The same by this list.', 2600),
  lost: whole('How many could not be renewed any more, because their term is not sold.', 0),
})

const list = () =>
  z.object({
    catalogue: z.looseObject({}).openapi({
      type: 'object',
      description: 'The whole price list.',
      example: { dedicated: {}, premium: {}, vpn: {} },
    }),
  })

export const getCatalogue = operation({
  id: 'getCatalogue',
  method: 'GET',
  path: '/catalogue',
  tag,
  summary: 'Read the price list in force, or an older version',
  role: 'reader',
  query: z.object({
    version: queryInteger({ min: 1, max: 1_000_000_000, example: 1, description: 'Which version.' }).optional(),
  }),
  answer: z.object({
    version: whole('Its number.', 1),
    applied_at: moment('Since when it is in force.'),
    catalogue: told('The whole price list.'),
  }),
  example: { version: 1, applied_at: toIso(exampleAt), catalogue: { dedicated: {}, premium: {}, vpn: {} } },
  codes: ['not_found'],
})

export const listCatalogues = operation({
  id: 'listCatalogues',
  method: 'GET',
  path: '/catalogue/versions',
  tag,
  summary: 'List the versions of the price list',
  role: 'reader',
  answer: z.object({
    items: z
      .array(z.object({ version: whole('Its number.', 1), applied_at: moment('Since when.') }))
      .openapi({ description: 'All of them.' }),
  }),
  example: { items: [{ version: 1, applied_at: toIso(exampleAt) }] },
})

export const compareCatalogue = operation({
  id: 'compareCatalogue',
  method: 'POST',
  path: '/catalogue/diff',
  tag,
  summary: 'Judge a price list whole and show what it would change',
  role: 'reader',
  isRead: true,
  body: list(),
  exampleBody: { catalogue: {} },
  answer: z.object({
    changes: changes(),
    effects: z.array(effect).openapi({
      description: 'For whom: whatever is priced otherwise and somebody has now. What was sold keeps its price.',
    }),
  }),
  example: {
    changes: ['~ vpn.months.1: 299 -> 300'],
    effects: [
      {
        product: 'vpn',
        country: null,
        ipv: null,
        pool: null,
        customers: 12,
        services: 14,
        renewals: 8,
        before_rub: 2392,
        after_rub: 2400,
        lost: 0,
      },
    ],
  },
})

export const applyCatalogue = operation({
  id: 'applyCatalogue',
  method: 'POST',
  path: '/catalogue/apply',
  tag,
  summary: 'Judge a price list whole and put it in force',
  role: 'owner',
  body: list(),
  exampleBody: { catalogue: {} },
  answer: z.object({
    version: whole('Its number; null when nothing would change.', 2).nullable(),
    changes: changes(),
  }),
  example: { version: 2, changes: ['+ vpn.months.1: 300'] },
})
