import { z } from '@hono/zod-openapi'
import { toIso } from '../../../kernel/time.ts'
import { exampleAt, moment, queryInteger, text, whole } from '../../fields.ts'
import { operation } from '../../operation.ts'
import { told } from '../fields.ts'

const tag = 'Price list'

const changes = () =>
  z.array(text('A leaf: `- path: old`, `~ path: old -> new` or `+ path: new`.', '+ vpn.months.1: 300')).openapi({
    description: 'What it changes.',
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
  answer: z.object({ changes: changes() }),
  example: { changes: ['+ vpn.months.1: 300'] },
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
