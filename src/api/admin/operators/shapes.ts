import { z } from '@hono/zod-openapi'
import { toIso } from '../../../core/time.ts'
import type { Entry, Operator, OperatorToken } from '../../../domains/operators/rules.ts'
import { roles } from '../../../domains/operators/rules.ts'
import { exampleAt, flag, moment, nextCursor, pageOf, pageQuery, text, whole } from '../../fields.ts'
import { operation } from '../../operation.ts'
import { instant, isoOrNull, told, words } from '../fields.ts'

const tag = 'Operators'

const role = () =>
  z.enum(roles).openapi({ description: '`reader` looks, `support` deals with customers, `owner` all.' })

const operator = z
  .object({
    operator_id: text('The id.', 'opr_01k73sf8000000000000000000'),
    name: text('The name, which is also the login.', 'anna'),
    role: role(),
    created_at: moment('Since when.'),
  })
  .openapi('Operator')

const example = {
  operator_id: 'opr_01k73sf8000000000000000000',
  name: 'anna',
  role: 'support' as const,
  created_at: toIso(exampleAt),
}

export const toOperator = (of: Operator): z.input<typeof operator> => ({
  operator_id: of.id,
  name: of.name,
  role: of.role,
  created_at: toIso(of.createdAt),
})

export const listOperators = operation({
  id: 'listOperators',
  method: 'GET',
  path: '/operators',
  tag,
  summary: 'List operators',
  role: 'owner',
  answer: z.object({ items: z.array(operator).openapi({ description: 'All who are there.' }) }),
  example: { items: [example] },
})

const operatorParam = z.object({
  operator: z.string().openapi({ description: "The operator's name.", example: 'anna' }),
})
const linkAnswer = z.object({
  ...operator.shape,
  link: text('Lets him in once, within a day; shown this once.', 'https://shop.example/operator#enter=tpl_…'),
  expires_at: moment('Until when.'),
})

export const addOperator = operation({
  id: 'addOperator',
  method: 'POST',
  path: '/operators',
  tag,
  summary: 'Add an operator, and see the link that lets him in, this once',
  role: 'owner',
  body: z.object({ name: words('How he is called and signs in.', 64, 'anna'), role: role() }),
  exampleBody: { name: 'anna', role: 'support' },
  answer: linkAnswer,
  example: { ...example, link: 'https://shop.example/operator#enter=tpl_…', expires_at: toIso(exampleAt) },
  codes: ['conflict'],
})

export const linkOperator = operation({
  id: 'linkOperator',
  method: 'POST',
  path: '/operators/{operator}/link',
  tag,
  summary: 'Make a new link for an operator, who has lost his password',
  role: 'owner',
  params: operatorParam,
  answer: linkAnswer,
  example: { ...example, link: 'https://shop.example/operator#enter=tpl_…', expires_at: toIso(exampleAt) },
  codes: ['not_found'],
})

export const setOperatorRole = operation({
  id: 'setOperatorRole',
  method: 'POST',
  path: '/operators/{operator}/role',
  tag,
  summary: 'Give an operator another role',
  role: 'owner',
  params: operatorParam,
  body: z.object({ role: role() }),
  exampleBody: { role: 'reader' },
  answer: operator,
  example,
  codes: ['not_found', 'conflict'],
})

export const removeOperator = operation({
  id: 'removeOperator',
  method: 'POST',
  path: '/operators/{operator}/remove',
  tag,
  summary: 'Take an operator out: tokens and sessions end within a second',
  role: 'owner',
  params: operatorParam,
  answer: z.object({ name: text('Who.', 'anna'), removed: flag('Whether he is out.') }),
  example: { name: 'anna', removed: true },
  codes: ['not_found', 'conflict'],
})

const token = z
  .object({
    token_id: text('The id.', 'otk_01k73sf8000000000000000000'),
    begins: text('How its text begins.', 'tpo_0000'),
    name: text('What it is for.', 'script'),
    created_at: moment('When it was made.'),
    expires_at: moment('When it stops.').nullable(),
    revoked_at: moment('When it was revoked.').nullable(),
  })
  .openapi('OperatorToken')

const tokenExample = {
  token_id: 'otk_01k73sf8000000000000000000',
  begins: 'tpo_0000',
  name: 'script',
  created_at: toIso(exampleAt),
  expires_at: null,
  revoked_at: null,
}

export const toOperatorToken = (of: OperatorToken): z.input<typeof token> => ({
  token_id: of.id,
  begins: of.hint,
  name: of.name,
  created_at: toIso(of.createdAt),
  expires_at: isoOrNull(of.expiresAt),
  revoked_at: isoOrNull(of.revokedAt),
})

export const listOperatorTokens = operation({
  id: 'listOperatorTokens',
  method: 'GET',
  path: '/operators/{operator}/tokens',
  tag,
  summary: "List an operator's tokens",
  role: 'owner',
  params: operatorParam,
  answer: z.object({ items: z.array(token).openapi({ description: 'All of them, oldest first.' }) }),
  example: { items: [tokenExample] },
  codes: ['not_found'],
})

export const createOperatorToken = operation({
  id: 'createOperatorToken',
  method: 'POST',
  path: '/operators/{operator}/tokens',
  tag,
  summary: 'Make a token for an operator and see it, this once',
  isIssuing: true,
  role: 'owner',
  params: operatorParam,
  body: z.object({
    name: words('What it is for.', 200, 'script').default('token'),
    expires_at: instant('When it stops; never unless said.').optional(),
  }),
  exampleBody: { name: 'script' },
  answer: z.object({ ...token.shape, token: text('Its text, shown this once.', 'tpo_…') }),
  example: { ...tokenExample, token: 'tpo_…' },
  codes: ['not_found'],
})

export const revokeOperatorToken = operation({
  id: 'revokeOperatorToken',
  method: 'POST',
  path: '/operators/tokens/{token_id}/revoke',
  tag,
  summary: "Stop an operator's token within a second, for good",
  role: 'owner',
  params: z.object({ token_id: z.string().openapi({ description: 'Which.', example: tokenExample.token_id }) }),
  answer: z.object({ token_id: text('Which.'), revoked: flag('Whether it is revoked.') }),
  example: { token_id: tokenExample.token_id, revoked: true },
  codes: ['not_found'],
})

const entry = z
  .object({
    seq: whole('Its number, from 1 without gaps.', 1),
    at: moment('When.'),
    operator_id: text('Who; null for the command line.').nullable(),
    name: text('Who, as he was called then.', 'anna'),
    role: text('The role he had then.', 'support'),
    action: text('The operation.', 'creditCustomer'),
    request: told('What was asked for, without secrets.'),
    source: text('From where.', '203.0.113.7').nullable(),
    hash: text('Covers the entry and the hash before it.'),
  })
  .openapi('AuditEntry')

export const listAuditLog = operation({
  id: 'listAuditLog',
  method: 'GET',
  path: '/audit',
  tag,
  summary: 'What was done, newest first',
  role: 'owner',
  query: z.object({
    ...pageQuery,
    operator_id: z.string().max(64).optional().openapi({ description: 'By whom.' }),
    action: z.string().max(64).optional().openapi({ description: 'Which operation.', example: 'creditCustomer' }),
  }),
  answer: z.object({ items: z.array(entry).openapi({ description: 'One page.' }), next_cursor: nextCursor() }),
  example: { items: [], next_cursor: null },
})

export const toAuditLog = (found: readonly Entry[], limit: number) => {
  const { items, next_cursor } = pageOf(found, limit, (each) => String(each.seq))
  return {
    items: items.map((each) => ({
      seq: each.seq,
      at: toIso(each.at),
      operator_id: each.operator,
      name: each.name,
      role: each.role,
      action: each.action,
      request: JSON.parse(each.request) as Record<string, unknown>,
      source: each.source,
      hash: each.hash.toHex(),
    })),
    next_cursor,
  }
}

const booksTag = 'Books'

const run = z
  .object({
    state: z.enum(['none', 'running', 'done', 'failed']).openapi({ description: 'How far it is.' }),
    started_at: moment('When it began.').nullable(),
    ended_at: moment('When it ended.').nullable(),
    part: text('What it looks at now.', 'money').nullable(),
    done: whole('How many things of it.', 0),
    ok: flag('Whether all promises hold; null before the end.').nullable(),
    found: whole('How many findings there are.').nullable(),
    findings: z
      .array(
        z.object({
          promise: text('Which promise.'),
          where: text('About what.'),
          problem: text('What is wrong.'),
          advice: text('What to do.'),
        }),
      )
      .openapi({ description: 'At most 1000.' }),
    covered: z.record(z.string(), z.int()).openapi({ description: 'How much was looked at.' }),
    notes: z.array(z.string()).openapi({ description: 'What could not be looked at.' }),
  })
  .openapi('Verification')

export const noRun: z.input<typeof run> = {
  state: 'none',
  started_at: null,
  ended_at: null,
  part: null,
  done: 0,
  ok: null,
  found: null,
  findings: [],
  covered: {},
  notes: [],
}

export type Run = z.input<typeof run>

export const startVerify = operation({
  id: 'startVerify',
  method: 'POST',
  path: '/verify',
  tag: booksTag,
  summary: 'Recompute every promise on the live database; ask `GET /verify` how it goes',
  role: 'support',
  isRead: true,
  body: z.object({
    against: z
      .array(
        z.object({
          number: z.int().min(1).optional(),
          hash: z.string().regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits'),
        }),
      )
      .max(500)
      .default([])
      .openapi({ description: 'Checkpoints that were kept elsewhere: each must be in this database.' }),
  }),
  answer: run,
  example: { ...noRun, state: 'running', started_at: toIso(exampleAt), part: 'money' },
  codes: ['conflict'],
})

export const getVerify = operation({
  id: 'getVerify',
  method: 'GET',
  path: '/verify',
  tag: booksTag,
  summary: 'How the last verification in this process goes, or went',
  role: 'reader',
  answer: run,
  example: noRun,
})

export const makeCheckpoint = operation({
  id: 'makeCheckpoint',
  method: 'POST',
  path: '/checkpoint',
  tag: booksTag,
  summary: "Write down a digest of every account's history now; keep its hash elsewhere",
  role: 'owner',
  answer: z.object({
    checkpoint: z
      .object({
        number: whole('Its number.', 1),
        accounts: whole('How many accounts.', 3),
        postings: whole('How many postings.', 17),
        hash: text('Its hash.'),
      })
      .nullable()
      .openapi({ description: 'Null when nothing has settled since the last one.' }),
  }),
  example: { checkpoint: null },
})
