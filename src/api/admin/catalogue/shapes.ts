import { choice, facts, list, moment, queryInteger, roubles, rows, text, whole } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'

const operation = operationsOf({ tag: 'Price list' })
const reader = operationsOf({ tag: 'Price list', role: 'reader' })

const changes = () =>
  list('What it changes.', text('A leaf: `- path: old`, `~ path: old -> new` or `+ path: new`.', '+ vpn.months.1: 300'))

const catalogue = () => facts('The whole price list.', { dedicated: {}, premium: {}, vpn: {} })

export const getCatalogue = reader('getCatalogue', 'GET /catalogue', {
  summary: 'Read the price list in force, or an older version',
  query: z.object({
    version: queryInteger({ min: 1, max: 1_000_000_000, example: 1, description: 'Which version.' }).optional(),
  }),
  answer: z.object({
    version: whole('Its number.', 1),
    applied_at: moment('Since when it is in force.'),
    catalogue: catalogue(),
  }),
  codes: ['not_found'],
})

export const listCatalogues = reader('listCatalogues', 'GET /catalogue/versions', {
  summary: 'List the versions of the price list',
  answer: z.object({
    items: rows('All of them.', { version: whole('Its number.', 1), applied_at: moment('Since when.') }),
  }),
})

export const compareCatalogue = reader('compareCatalogue', 'POST /catalogue/diff', {
  summary: 'Judge a price list whole and show what it would change',
  isRead: true,
  body: z.object({ catalogue: catalogue() }),
  answer: z.object({
    changes: changes(),
    effects: rows('Services that customers have now and that would cost something else. Sold terms keep their price.', {
      product: choice('Which product.', ['dedicated', 'premium', 'vpn']),
      country: text('Of which country, for dedicated proxies.', 'DE').nullable(),
      ipv: whole('Of which kind, for dedicated proxies.', 4).nullable(),
      pool: text('Of which pool, for premium traffic.').nullable(),
      customers: whole('How many customers have some of it now.', 12),
      services: whole('How many proxies, subscriptions, or sub-users with unspent traffic that is.', 30),
      renewals: whole('How many of these renew themselves.', 8),
      before_rub: roubles('What the next renewal of each costs together, by the list in force.', 2400),
      after_rub: roubles('The same by this list.', 2600),
      lost: whole('How many could not be renewed any more, because their term is not sold.', 0),
    }),
  }),
})

export const applyCatalogue = operation('applyCatalogue', 'POST /catalogue/apply', {
  summary: 'Judge a price list whole and put it in force',
  body: z.object({ catalogue: catalogue() }),
  answer: z.object({
    version: whole('Its number; null when nothing would change.', 2).nullable(),
    changes: changes(),
  }),
})
