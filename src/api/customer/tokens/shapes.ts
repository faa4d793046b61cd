import { formatPrefix, readPrefix } from '../../../core/address.ts'
import { problem } from '../../../core/messages/problems.ts'
import { toRoubles } from '../../../core/money.ts'
import { readIso, toIso } from '../../../core/time.ts'
import { allScopes, type Token } from '../../../domains/customers/rules.ts'
import { flag, isoOrNull, list, moment, named, roubles, text } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'

const operation = operationsOf({ tag: 'API tokens' })
export const exampleToken = 'tok_01k73sf8000000000000000000'

export const token = named('Token', {
  token_id: text('Its id.', exampleToken),
  begins: text('The first characters of its text, to tell tokens apart.', 'tp_live_0000'),
  name: text('What it is for.', 'my program'),
  scopes: z.array(z.string()).openapi({ description: 'What it may do.', example: ['read', 'trade'] }),
  cap_rub: roubles('The most it may spend in all; null without a cap.', 1000).nullable(),
  from: z
    .array(z.string())
    .openapi({ description: 'Addresses it may be used from; anywhere if empty.', example: ['203.0.113.0/24'] }),
  created_at: moment('When it was made.'),
  expires_at: moment('When it stops; null for never.').nullable(),
  revoked_at: moment('When it was revoked; null if it was not.').nullable(),
  used_at: moment('When it was last used, to the minute; null for never.').nullable(),
  used_from: text('From where.').nullable(),
})

export const toToken = (of: Token): z.input<typeof token> => ({
  token_id: of.id,
  begins: of.hint,
  name: of.name,
  scopes: [...of.scopes],
  cap_rub: of.cap === null ? null : toRoubles(of.cap),
  from: of.allowedFrom.map(formatPrefix),
  created_at: toIso(of.createdAt),
  expires_at: isoOrNull(of.expiresAt),
  revoked_at: isoOrNull(of.revokedAt),
  used_at: isoOrNull(of.usedAt),
  used_from: of.usedFrom,
})

export const listOwnTokens = operation('listTokens', 'GET /tokens', {
  summary: 'List your API tokens',
  access: 'session',
  answer: z.object({
    tokens: list('Those that are not revoked, and the newest of the others, 200 at most; oldest first.', token),
  }),
})

/** The fields of a new token, the same for customers and for operators. */
export const tokenBody = z.object({
  name: z
    .string()
    .refine((name) => /^[^\p{Cc}\p{Cs}]{1,200}$/u.test(name), problem('printable', { from: 1, to: 200 }))
    .default('token')
    .openapi({ description: 'What it is for.', example: 'my program', minLength: 1, maxLength: 200 }),
  scopes: z
    .array(z.enum([...allScopes] as [string, ...string[]]))
    .min(1)
    .optional()
    .openapi({
      description:
        'What it may do; all unless said. `trade` buys and changes, `pay` begins payments, `passwords` shows ' +
        'passwords, keys and secret links in what is read.',
      example: ['read'],
    }),
  cap_rub: z
    .number()
    .min(0)
    .max(1_000_000_000)
    .refine((value) => Number.isInteger(Math.round(value * 1e6) / 1e4), problem('two_decimals'))
    .nullish()
    .openapi({ description: 'The most it may spend in all; without a cap unless said.', example: 1000 }),
  from: z
    .array(z.string().refine((value) => readPrefix(value) !== undefined, problem('address_or_prefix')))
    .max(100)
    .optional()
    .openapi({ description: 'Addresses it may be used from; anywhere unless said.', example: ['203.0.113.0/24'] }),
  expires_at: z
    .string()
    .refine((value) => readIso(value) !== undefined, problem('moment'))
    .nullish()
    .openapi({ description: 'When it stops; never unless said.', example: '2027-01-31T12:00:00Z' }),
})

const made = named('NewToken', { ...token.shape, token: text('Its text, shown this once.', 'tp_live_…') })

export const createOwnToken = operation('createToken', 'POST /tokens/create', {
  summary: 'Make an API token and see it, this once',
  isIssuing: true,
  access: 'session',
  body: tokenBody,
  exampleBody: { name: 'my program', scopes: ['read'] },
  answer: made,
})

export const revokeOwnToken = operation('revokeToken', 'POST /tokens/revoke', {
  isDestructive: true,
  summary: 'Stop one of your API tokens, for good',
  access: 'session',
  body: z.object({ token_id: text('Which one.', exampleToken) }),
  answer: z.object({ token_id: text('Which one.', exampleToken), revoked: flag('Whether it is revoked.') }),
  codes: ['not_found'],
})
