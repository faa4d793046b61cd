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

const role = () =>
  choice('`reader` reads, `support` also manages customers and payments, `owner` may do everything.', roles, 'support')

const operator = named('Operator', {
  operator_id: text('The operator’s id.', 'opr_01k73sf8000000000000000000'),
  name: text('Name, which is also the login.', 'anna'),
  role: role(),
  created_at: moment('Time when the operator was added.'),
})

export const toOperator = (of: Operator): z.input<typeof operator> => ({
  operator_id: of.id,
  name: of.name,
  role: of.role,
  created_at: toIso(of.createdAt),
})

export const listOperators = operation('listOperators', 'GET /operators', {
  summary: 'List operators',
  answer: z.object({ items: list('All operators who are not removed.', operator) }),
})

const operatorParam = z.object({ operator: text("The operator's name.", 'anna') })
const linkAnswer = z.object({
  ...operator.shape,
  link: text(
    'Sign-in link, valid once within 24 hours. It is shown only in this answer.',
    'https://shop.example/operator#enter=tpl_…',
  ),
  expires_at: moment('Expiry of the link.'),
})

export const addOperator = operation('addOperator', 'POST /operators', {
  creates: true,
  summary: 'Add an operator and create a sign-in link, which is shown once',
  body: z.object({ name: printableText('Name, which is also the login.', 64, 'anna'), role: role() }),
  answer: linkAnswer,
  codes: ['conflict'],
})

export const linkOperator = operation('linkOperator', 'POST /operators/{operator}/link', {
  creates: true,
  summary: 'Create a new sign-in link for an operator who has lost the password',
  params: operatorParam,
  answer: linkAnswer,
})

export const setOperatorRole = operation('setOperatorRole', 'POST /operators/{operator}/role', {
  summary: 'Change the role of an operator',
  params: operatorParam,
  body: z.object({ role: role() }),
  answer: operator,
  codes: ['not_found', 'conflict'],
})

export const removeOperator = operation('removeOperator', 'POST /operators/{operator}/remove', {
  summary: 'Remove an operator; tokens and sessions end within a second',
  params: operatorParam,
  answer: z.object({ name: text('Name of the operator.', 'anna'), removed: flag('Whether the operator is removed.') }),
  codes: ['not_found', 'conflict'],
})

const token = named('OperatorToken', {
  token_id: text('The token’s id.', exampleToken),
  begins: text('First characters of the token.', 'tpo_0000'),
  name: text('Name of the token.', 'script'),
  created_at: moment('Time of creation.'),
  expires_at: moment('Expiry; null for none.').nullable(),
  revoked_at: moment('Time of revocation; null if not revoked.').nullable(),
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
  answer: z.object({ items: list('All tokens, oldest first.', token) }),
})

export const createOperatorToken = operation('createOperatorToken', 'POST /operators/{operator}/tokens', {
  creates: true,
  summary: 'Create a token for an operator; its text is shown once',
  isIssuing: true,
  params: operatorParam,
  body: z.object({
    name: printableText('Name of the token.', 200, 'script').default('token'),
    expires_at: instant('Expiry. Default: none.').optional(),
  }),
  exampleBody: { name: 'script' },
  answer: z.object({ ...token.shape, token: text('Text of the token, shown only in this answer.', 'tpo_…') }),
})

export const revokeOperatorToken = operation('revokeOperatorToken', 'POST /operators/tokens/{token_id}/revoke', {
  summary: "Revoke an operator's token within a second; this cannot be undone",
  params: z.object({ token_id: text('The token’s id.', exampleToken) }),
  answer: z.object({ token_id: text('The token’s id.', exampleToken), revoked: flag('Whether the token is revoked.') }),
})

const entry = named('AuditEntry', {
  seq: whole('Number of the entry, from 1 without gaps.', 1),
  at: moment('Time of the action.'),
  operator_id: text('Id of the operator; null for the command line.').nullable(),
  name: text('Name of the operator at that time.', 'anna'),
  role: text('Role of the operator at that time.', 'support'),
  action: text('Operation id.', 'creditCustomer'),
  request: facts(
    'Fields of the request, without secrets. `outcome` has the `amount_rub` of a refund, or the `version`, ' +
      '`change_count` and first 10 `changes` of a price list.',
  ),
  customer_name: text('Name of the customer in `request.customer_id`; null without one.').nullable(),
  source: text(
    'Client address, or for the command line `user` and the name of the person who logged in; null if unknown.',
    '203.0.113.7',
  ).nullable(),
  hash: text('SHA-256 of the entry and the previous hash.', exampleHash),
})

export const listAuditLog = operation('listAuditLog', 'GET /audit', {
  summary: 'List audit log entries, newest first',
  query: z.object({
    ...pageQuery,
    operator_id: given('Only actions of this operator.', 64).optional(),
    action: given('Only this operation.', 64, 'creditCustomer').optional(),
  }),
  answer: page({ items: list('One page of entries.', entry) }),
})

export const readRequest = (of: Entry) => z.record(z.string(), z.unknown()).parse(JSON.parse(of.request))

export const toEntry = (of: Entry, customerName: string | undefined): z.input<typeof entry> => ({
  seq: of.seq,
  at: toIso(of.at),
  operator_id: of.operator,
  name: of.name,
  role: of.role,
  action: of.action,
  request: readRequest(of),
  customer_name: customerName ?? null,
  source: of.source,
  hash: of.hash.toHex(),
})

const bookOperation = operationsOf({ tag: 'Books' })

const run = named('Verification', {
  state: choice('State of the verification.', ['none', 'running', 'done', 'failed']),
  started_at: moment('Start.').nullable(),
  ended_at: moment('End.').nullable(),
  part: text('Part that is being checked.', 'money').nullable(),
  done: whole('Items of the part checked so far.', 0),
  ok: flag(
    'Whether all invariants hold; null before the end. Of a part, also whether the parts before it found nothing ' +
      'since the last round began.',
  ).nullable(),
  found: whole(
    'Number of findings; null before the end. Of a part that found nothing: findings of the parts before it that no ' +
      'whole round has refuted.',
  ).nullable(),
  findings: rows('Findings, at most 1000.', {
    promise: text('Stable key of the violated invariant, for programs.', 'balance'),
    promise_name: text('Name of the invariant, for people.', 'Balance'),
    where: text('Row or object that violates it.', 'account of cus_01k73sf8000000000000000000'),
    problem: text(
      'Description of the violation; in Russian for `Accept-Language: ru`.',
      'the balance is 0.01, its postings sum to 0.00',
    ),
    advice: text('Recommended action.'),
    reason: text('Stable key of the problem, for programs.', 'balance_differs'),
    params: facts('Values used in `problem`. Amounts are strings in roubles.', { stored: '0.01', expected: '0.00' }),
  }),
  covered: z.record(z.string(), z.int()).openapi({ description: 'Number of items checked, by kind.' }),
  notes: list('Checks that could not run, and findings of earlier parts.', z.string()),
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
  summary: 'Start a verification of all invariants on the live database; `GET /verify` shows the result',
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
      .openapi({ description: 'Checkpoints stored outside the shop; each must exist in this database.' }),
    part: z
      .boolean()
      .default(false)
      .openapi({
        description:
          'Check what is new since the last part, and the next rows of a round over all rows. ' +
          'A round takes at most 14 parts.',
        default: false,
      }),
  }),
  answer: run,
  example: { ...noRun, state: 'running', started_at: toIso(exampleAt), part: 'money' },
  codes: ['conflict'],
})

export const getVerify = bookOperation('getVerify', 'GET /verify', {
  summary: 'Show the state and result of the last verification in this process',
  role: 'reader',
  isTranslated: true,
  answer: run,
  example: noRun,
})

export const makeCheckpoint = bookOperation('makeCheckpoint', 'POST /checkpoint', {
  summary: "Create a checkpoint, a digest of every account's history; store its hash outside the shop",
  answer: z.object({
    checkpoint: part('The checkpoint; null if nothing has settled since the last one.', {
      number: whole('Number of the checkpoint.', 1),
      accounts: whole('Accounts covered.', 3),
      postings: whole('Postings covered.', 17),
      hash: text('Hash of the checkpoint.', exampleHash),
    }).nullable(),
  }),
})
