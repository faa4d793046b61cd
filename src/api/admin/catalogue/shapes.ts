import { choice, facts, given, list, moment, queryInteger, roubles, rows, text, whole } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'

const operation = operationsOf({ tag: 'Price list' })
const reader = operationsOf({ tag: 'Price list', role: 'reader' })

const changes = () =>
  list(
    'Changes to the price list in force.',
    text('One value: `- path: old`, `~ path: old -> new` or `+ path: new`.', '+ vpn.months.1: 300'),
  )

const catalogue = () => facts('The whole price list.', { dedicated: {}, premium: {}, vpn: {} })

export const getCatalogue = reader('getCatalogue', 'GET /catalogue', {
  summary: 'Read the price list in force, or an older version',
  query: z.object({
    version: queryInteger({
      min: 1,
      max: 1_000_000_000,
      example: 1,
      description: 'Version number. Default: the version in force.',
    }).optional(),
  }),
  answer: z.object({
    version: whole('Version number.', 1),
    applied_at: moment('Time when the version came into force.'),
    catalogue: catalogue(),
  }),
  codes: ['not_found'],
})

export const listCatalogues = reader('listCatalogues', 'GET /catalogue/versions', {
  summary: 'List the versions of the price list with their operators and changes',
  answer: z.object({
    items: rows('The newest 100 versions, newest first. The first one is in force.', {
      version: whole('Version number.', 1),
      applied_at: moment('Time when the version came into force.'),
      applied_by: text('Operator who applied it; null if the audit log has no version for it.', 'anna').nullable(),
      change_count: whole('Number of changes to the version before; 0 for the first one.', 1),
      changes: list('The first 10 of them.', text('One value, as in `compareCatalogue`.', '+ vpn.months.1: 300')),
    }),
  }),
})

const maxCatalogueCharacters = 60_000

export const convertCatalogue = reader('convertCatalogue', 'POST /catalogue/convert', {
  summary: 'Read a price list in YAML or JSON and write it in YAML',
  description: 'Reads the text without checking prices and changes nothing.',
  isRead: true,
  body: z.object({
    text: given('The price list in YAML or JSON.', maxCatalogueCharacters, 'vpn: { months: { 1: 299 } }'),
  }),
  answer: z.object({ catalogue: catalogue(), yaml: text('The price list in YAML.', 'vpn:\n  months:\n    "1": 299') }),
})

export const compareCatalogue = reader('compareCatalogue', 'POST /catalogue/diff', {
  summary: 'Validate a price list and show what it would change',
  isRead: true,
  body: z.object({ catalogue: catalogue() }),
  answer: z.object({
    changes: changes(),
    effects: rows('Current services whose renewal price would change. Terms already sold keep their price.', {
      product: choice('Product.', ['dedicated', 'premium', 'vpn']),
      country: text('Country code of dedicated proxies; else null.', 'DE').nullable(),
      ipv: whole('Kind of address of dedicated proxies: 3, 4 or 6; else null.', 4).nullable(),
      pool: text('Pool of premium traffic; else null.').nullable(),
      customers: whole('Customers who have such services now.', 12),
      services: whole('Number of proxies, subscriptions, or sub-users with unused traffic.', 30),
      renewals: whole('Services with automatic renewal.', 8),
      before_rub: roubles('Sum of the next renewals by the price list in force.', 2400),
      after_rub: roubles('Sum of the next renewals by the new price list.', 2600),
      lost: whole('Services that could no longer be renewed because their term is not sold.', 0),
    }),
  }),
})

export const applyCatalogue = operation('applyCatalogue', 'POST /catalogue/apply', {
  creates: true,
  affectsNodes: true,
  summary: 'Validate a price list and put it into force',
  body: z.object({ catalogue: catalogue() }),
  answer: z.object({
    version: whole('New version number; null if nothing changed.', 2).nullable(),
    changes: changes(),
  }),
})
