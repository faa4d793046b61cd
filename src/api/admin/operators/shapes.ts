import { problem } from '../../../core/messages/problems.ts'
import { toIso } from '../../../core/time.ts'
import type { Entry, Operator, OperatorToken } from '../../../domains/operators/rules.ts'
import { roles } from '../../../domains/operators/rules.ts'
import {
  choice,
  exampleAt,
  facts,
  flag,
  given,
  isoOrNull,
  list,
  moment,
  named,
  part,
  rows,
  text,
  whole,
} from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'
import { instant, printableText } from '../fields.ts'

const operation = operationsOf({ tag: 'Operators' })
const exampleToken = 'otk_01k73sf8000000000000000000'
const exampleHash = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'

const role = () => choice('`reader` looks, `support` deals with customers, `owner` all.', roles, 'support')

const operator = named('Operator', {
  operator_id: text('The id.', 'opr_01k73sf8000000000000000000'),
  name: text('The name, which is also the login.', 'anna'),
  role: role(),
  created_at: moment('Since when.'),
})

export const toOperator = (of: Operator): z.input<typeof operator> => ({
  operator_id: of.id,
  name: of.name,
  role: of.role,
  created_at: toIso(of.createdAt),
})

export const listOperators = operation('listOperators', 'GET /operators', {
  summary: 'List operators',
  answer: z.object({ items: list('All who are there.', operator) }),
})

const operatorParam = z.object({ operator: text("The operator's name.", 'anna') })
const linkAnswer = z.object({
  ...operator.shape,
  link: text('Signs the operator in once, within a day; shown this once.', 'https://shop.example/operator#enter=tpl_…'),
  expires_at: moment('Until when.'),
})

export const addOperator = operation('addOperator', 'POST /operators', {
  summary: 'Add an operator, and see the link that signs the operator in, this once',
  body: z.object({ name: printableText('The name, which is also the login.', 64, 'anna'), role: role() }),
  answer: linkAnswer,
  codes: ['conflict'],
})

export const linkOperator = operation('linkOperator', 'POST /operators/{operator}/link', {
  summary: 'Make a new link for an operator who has lost the password',
  params: operatorParam,
  answer: linkAnswer,
})

export const setOperatorRole = operation('setOperatorRole', 'POST /operators/{operator}/role', {
  summary: 'Give an operator another role',
  params: operatorParam,
  body: z.object({ role: role() }),
  answer: operator,
  codes: ['not_found', 'conflict'],
})

export const removeOperator = operation('removeOperator', 'POST /operators/{operator}/remove', {
  summary: 'Take an operator out: tokens and sessions end within a second',
  params: operatorParam,
  answer: z.object({ name: text('Who.', 'anna'), removed: flag('Whether the operator is removed.') }),
  codes: ['not_found', 'conflict'],
})

const token = named('OperatorToken', {
  token_id: text('The id.', exampleToken),
  begins: text('How its text begins.', 'tpo_0000'),
  name: text('What it is for.', 'script'),
  created_at: moment('When it was made.'),
  expires_at: moment('When it stops.').nullable(),
  revoked_at: moment('When it was revoked.').nullable(),
})

export const toOperatorToken = (of: OperatorToken): z.input<typeof token> => ({
  token_id: of.id,
  begins: of.hint,
  name: of.name,
  created_at: toIso(of.createdAt),
  expires_at: isoOrNull(of.expiresAt),
  revoked_at: isoOrNull(of.revokedAt),
})

export const listOperatorTokens = operation('listOperatorTokens', 'GET /operators/{operator}/tokens', {
  summary: "List an operator's tokens",
  params: operatorParam,
  answer: z.object({ items: list('All of them, oldest first.', token) }),
})

export const createOperatorToken = operation('createOperatorToken', 'POST /operators/{operator}/tokens', {
  summary: 'Make a token for an operator and see it, this once',
  isIssuing: true,
  params: operatorParam,
  body: z.object({
    name: printableText('What it is for.', 200, 'script').default('token'),
    expires_at: instant('When it stops; never unless said.').optional(),
  }),
  exampleBody: { name: 'script' },
  answer: z.object({ ...token.shape, token: text('Its text, shown this once.', 'tpo_…') }),
})

export const revokeOperatorToken = operation('revokeOperatorToken', 'POST /operators/tokens/{token_id}/revoke', {
  summary: "Stop an operator's token within a second, for good",
  params: z.object({ token_id: text('Which.', exampleToken) }),
  answer: z.object({ token_id: text('Which.', exampleToken), revoked: flag('Whether it is revoked.') }),
})

const entry = named('AuditEntry', {
  seq: whole('Its number, from 1 without gaps.', 1),
  at: moment('When.'),
  operator_id: text('Who; null for the command line.').nullable(),
  name: text('The name at that time.', 'anna'),
  role: text('The role at that time.', 'support'),
  action: text('The operation.', 'creditCustomer'),
  request: facts('What was asked for, without secrets.'),
  source: text('From where.', '203.0.113.7').nullable(),
  hash: text('Covers the entry and the hash before it.', exampleHash),
})

export const listAuditLog = operation('listAuditLog', 'GET /audit', {
  summary: 'What was done, newest first',
  query: z.object({
    ...pageQuery,
    operator_id: given('By whom.', 64).optional(),
    action: given('Which operation.', 64, 'creditCustomer').optional(),
  }),
  answer: page({ items: list('One page.', entry) }),
})

export const toEntry = (of: Entry): z.input<typeof entry> => ({
  seq: of.seq,
  at: toIso(of.at),
  operator_id: of.operator,
  name: of.name,
  role: of.role,
  action: of.action,
  request: z.record(z.string(), z.unknown()).parse(JSON.parse(of.request)),
  source: of.source,
  hash: of.hash.toHex(),
})

const bookOperation = operationsOf({ tag: 'Books' })

const run = named('Verification', {
  state: choice('How far it is.', ['none', 'running', 'done', 'failed']),
  started_at: moment('When it began.').nullable(),
  ended_at: moment('When it ended.').nullable(),
  part: text('What it looks at now.', 'money').nullable(),
  done: whole('How many things of it.', 0),
  ok: flag('Whether all promises hold; null before the end.').nullable(),
  found: whole('How many findings there are.').nullable(),
  findings: rows('At most 1000.', {
    promise: text('The promise that is broken, for programs.', 'balance'),
    promise_name: text('The name of the promise, for people.', 'Balance'),
    where: text('The row or the thing that it is about.', 'account of cus_01k73sf8000000000000000000'),
    problem: text(
      'What is wrong, in Russian for `Accept-Language: ru`.',
      'the balance is 0.01, its postings sum to 0.00',
    ),
    advice: text('What to do.'),
    reason: text('Stable, for programs: what is wrong.', 'balance_differs'),
    params: facts('What the problem names. Amounts are texts in roubles.', { stored: '0.01', expected: '0.00' }),
  }),
  covered: z.record(z.string(), z.int()).openapi({ description: 'How much was looked at.' }),
  notes: list('What could not be looked at.', z.string()),
})

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

export type VerificationRun = z.input<typeof run>

export const startVerify = bookOperation('startVerify', 'POST /verify', {
  summary: 'Recompute every promise on the live database; ask `GET /verify` how it goes',
  role: 'support',
  isTranslated: true,
  isRead: true,
  body: z.object({
    against: z
      .array(
        z.object({
          number: z.int().min(1).optional(),
          hash: z.string().regex(/^[0-9a-fA-F]{64}$/, problem('hex_digits', { digits: 64 })),
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

export const getVerify = bookOperation('getVerify', 'GET /verify', {
  summary: 'How the last verification in this process goes, or went',
  role: 'reader',
  isTranslated: true,
  answer: run,
  example: noRun,
})

export const makeCheckpoint = bookOperation('makeCheckpoint', 'POST /checkpoint', {
  summary: "Write down a digest of every account's history now; keep its hash elsewhere",
  answer: z.object({
    checkpoint: part('Null when nothing has settled since the last one.', {
      number: whole('Its number.', 1),
      accounts: whole('How many accounts.', 3),
      postings: whole('How many postings.', 17),
      hash: text('Its hash.', exampleHash),
    }).nullable(),
  }),
})
