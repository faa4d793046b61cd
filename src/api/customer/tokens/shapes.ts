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
  token_id: text("The token's id.", exampleToken),
  begins: text('First characters of the token, to recognise it by.', 'tp_live_0000'),
  name: text('Name of the token, chosen by you.', 'my program'),
  scopes: z.array(z.string()).openapi({ description: 'Scopes of the token.', example: ['read', 'trade'] }),
  cap_rub: roubles('Maximum total spending of the token; null means no cap.', 1000).nullable(),
  from: z.array(z.string()).openapi({
    description: 'Addresses from which the token can be used; empty means any.',
    example: ['203.0.113.0/24'],
  }),
  api_version: text('Version of the API that its requests have unless they name one.', '2026-11-19'),
  created_at: moment('When the token was created.'),
  expires_at: moment('When the token expires; null if never.').nullable(),
  revoked_at: moment('When the token was revoked; null if it was not.').nullable(),
  used_at: moment('When the token was last used, to the minute; null if never.').nullable(),
  used_from: text('Client address of the last use; null if never used.').nullable(),
})

export const toToken = (of: Token): z.input<typeof token> => ({
  token_id: of.id,
  begins: of.hint,
  name: of.name,
  scopes: [...of.scopes],
  cap_rub: of.cap === null ? null : toRoubles(of.cap),
  from: of.allowedFrom.map(formatPrefix),
  api_version: of.apiVersion,
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
    tokens: list(
      'Tokens that are not revoked, then the newest revoked ones up to 200 in total; sorted oldest first.',
      token,
    ),
  }),
})

export const getToken = operation('getToken', 'GET /token', {
  summary: 'Show what the token of this request may do',
  description: 'A program learns from it which operations its token is for.',
  answer: z.object({
    token_id: text("The token's id; null in a session of the console.", exampleToken).nullable(),
    scopes: z.array(z.string()).openapi({ description: 'Scopes of the token.', example: ['read', 'trade'] }),
    cap_rub: roubles('Maximum total spending of the token; null means no cap.', 1000).nullable(),
    api_version: text('Version of the API that its requests have unless they name one.', '2026-11-19'),
  }),
})

/** The fields of a new token, the same for customers and for operators. */
export const tokenBody = z.object({
  name: z
    .string()
    .refine((name) => /^[^\p{Cc}\p{Cs}]{1,200}$/u.test(name), problem('printable', { from: 1, to: 200 }))
    .default('token')
    .openapi({ description: 'Name of the token.', example: 'my program', minLength: 1, maxLength: 200 }),
  // The length is checked first: a short compressed body may hold thousands of items.
  scopes: z
    .array(z.unknown())
    .min(1)
    .max(allScopes.length)
    .pipe(z.array(z.enum([...allScopes] as [string, ...string[]])))
    .optional()
    .openapi({
      type: 'array',
      items: { type: 'string', enum: [...allScopes] },
      minItems: 1,
      maxItems: allScopes.length,
      description:
        'Scopes of the token. Default: all. `read` reads, `trade` buys and changes, `pay` creates payments, ' +
        '`passwords` shows passwords, keys and secret links in answers.',
      example: ['read'],
    }),
  cap_rub: z
    .number()
    .min(0)
    .max(1_000_000_000)
    .refine((value) => Number.isInteger(Math.round(value * 1e6) / 1e4), problem('two_decimals'))
    .nullish()
    .openapi({ description: 'Maximum total spending of the token in roubles. Default: no cap.', example: 1000 }),
  from: z
    .array(z.string().refine((value) => readPrefix(value) !== undefined, problem('address_or_prefix')))
    .max(100)
    .optional()
    .openapi({
      description: 'Addresses or prefixes from which the token can be used. Default: any.',
      example: ['203.0.113.0/24'],
    }),
  expires_at: z
    .string()
    .refine((value) => readIso(value) !== undefined, problem('moment'))
    .nullish()
    .openapi({ description: 'When the token expires, ISO 8601. Default: never.', example: '2027-01-31T12:00:00Z' }),
})

/** A token also takes the version of the API. */
export const ownTokenBody = tokenBody.extend({
  api_version: text('Version of the API, as in `GET /changelog`. Default: the latest.', '2026-11-19').optional(),
})

const made = named('NewToken', {
  ...token.shape,
  token: text('The token itself, shown only in this answer.', 'tp_live_…'),
})

export const createOwnToken = operation('createToken', 'POST /tokens/create', {
  creates: true,
  isSecret: true,
  summary: 'Create an API token; it is shown only once',
  isIssuing: true,
  access: 'session',
  body: ownTokenBody,
  exampleBody: { name: 'my program', scopes: ['read'] },
  answer: made,
})

export const revokeOwnToken = operation('revokeToken', 'POST /tokens/revoke', {
  isDestructive: true,
  summary: 'Revoke an API token permanently',
  access: 'session',
  body: z.object({ token_id: text("The token's id.", exampleToken) }),
  answer: z.object({ token_id: text("The token's id.", exampleToken), revoked: flag('Whether the token is revoked.') }),
  codes: ['not_found'],
})

export const setTokenVersion = operation('setTokenVersion', 'POST /tokens/version', {
  summary: 'Set the version of the API of a token',
  description:
    'Try the version with `Turnpike-Version` in single requests before. `GET /changelog` lists what differs.',
  access: 'session',
  body: z.object({
    token_id: text("The token's id.", exampleToken),
    api_version: text('Version of the API, as in `GET /changelog`.', '2026-11-19'),
  }),
  answer: z.object({
    token_id: text("The token's id.", exampleToken),
    api_version: text('Version of the API that its requests have unless they name one.', '2026-11-19'),
  }),
  codes: ['not_found'],
})
