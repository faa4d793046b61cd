import { toIso } from '../../core/time.ts'
import { roles } from '../../domains/operators/rules.ts'
import type { OwnerKind, Session } from '../../domains/signin/rules.ts'
import { choice, flag, given, list, moment, named, text, whole } from '../fields.ts'
import { operationsOf, z } from '../operation.ts'

const exampleSession = 'ses_01k73sf8000000000000000000'
const exampleLogin = 'anna@example.com'
const exampleLink = 'tpl_…'
const examplePassword = 'correct horse battery'

const password = () => given('The password.', 1000, examplePassword)
const currentPassword = () => given('Current password; not required if none is set.', 1000, examplePassword).optional()
const code = () => given('Six-digit code of the second factor, or one of its recovery codes.', 40, '492039')
const recoveryCodes = () =>
  list(
    '10 recovery codes: each replaces one code of the second factor. Only this answer has them.',
    text('A recovery code.', '7kq2-m9xv-4d0c-ht3w'),
  )
const link = () => given('Part of the link after the `=`.', 100, exampleLink)

const who = named('Who', {
  kind: choice('Kind of the signed-in account.', ['customer', 'operator']),
  id: text('Id of the customer or operator.', 'cus_01k73sf8000000000000000000'),
  name: text('Name that operators see.', 'Anna'),
  role: choice('Role of an operator; null for a customer.', roles).nullable(),
  scopes: list('Scopes of a customer’s session: `read`, `trade`, `pay`, `passwords`.', text('A scope.', 'read')),
  login: text('Login; null before a password is set.', exampleLogin).nullable(),
  email: text('E-mail address; null if there is none.', exampleLogin).nullable(),
  has_password: flag('Whether a password is set.'),
  has_factor: flag('Whether sign-in requires a code of a second factor.', false),
  recovery_codes_left: whole('Unused recovery codes; null before any were made.', 10).nullable(),
  session_id: text('Id of this session.', exampleSession),
  expires_at: moment('Expiry of the session.'),
  viewed_by: text('Operator who views the customer’s console read-only; null otherwise.').nullable(),
})

const session = named('Session', {
  session_id: text('The session’s id.', exampleSession),
  current: flag('Whether it is the session of this request.'),
  source: text('Client address at sign-in.', '203.0.113.7').nullable(),
  agent: text('`User-Agent` of the browser.', 'Mozilla/5.0').nullable(),
  created_at: moment('Time of sign-in.'),
  used_at: moment('Time of the last request, to the minute.'),
  expires_at: moment('Expiry of the session.'),
})

export const toSession = (of: Session, current: string): z.input<typeof session> => ({
  session_id: of.id,
  current: of.id === current,
  source: of.source,
  agent: of.agent,
  created_at: toIso(of.createdAt),
  used_at: toIso(of.usedAt),
  expires_at: toIso(of.expiresAt),
})

const done = z.object({ done: flag('Always true.') })
const capital = (kind: OwnerKind) => (kind === 'customer' ? 'Customer' : 'Operator')

/** The example of a signed-in operator, in place of a customer's fields. */
const operatorExample = {
  kind: 'operator',
  id: 'opr_01k73sf8000000000000000000',
  role: 'support',
  scopes: [] as string[],
  login: 'anna',
  email: null,
} as const

export function createSignInShapes(kind: OwnerKind) {
  const operation = operationsOf({ tag: `${capital(kind)}s` })
  const example = kind === 'customer' ? {} : operatorExample
  const idOf = <Name extends string>(name: Name) => `${name}${capital(kind)}` as const
  return {
    offers: operation(idOf('getOffersFor'), `GET /${kind}/offers`, {
      summary: 'Show what the sign-in page offers',
      access: 'public',
      answer: z.object({
        registration: flag('Whether visitors may register.'),
        mail: flag('Whether the shop sends e-mail, so that a forgotten password can be reset.'),
        contact: z
          .object({
            text: text('E-mail address or URL.', 'help@shop.example'),
            url: text('Link to it: `mailto:` or `https:`.', 'mailto:help@shop.example'),
          })
          .nullable()
          .describe('The seller’s contact for customers; null if there is none.'),
      }),
    }),
    signIn: operation(idOf('signIn'), `POST /${kind}/sign-in`, {
      summary: 'Sign in with login, password and, if set, a code of the second factor',
      description:
        'Sets a cookie. If a code is required, a correct password without it is refused with `code_required: true`.',
      access: 'public',
      body: z.object({ login: given('Login.', 254, exampleLogin), password: password(), code: code().optional() }),
      answer: who,
      example,
      codes: ['sign_in_failed'],
    }),
    byLink: operation(idOf('signInByLink'), `POST /${kind}/sign-in/link`, {
      summary: 'Sign in with a one-time link and, if set, a code of the second factor',
      description:
        'If a code is required, a valid link without it is refused with `code_required: true` and stays valid.',
      access: 'public',
      body: z.object({ link: link(), code: code().optional() }),
      answer: who,
      example,
      codes: ['not_found', 'sign_in_failed'],
    }),
    signOut: operation(idOf('signOut'), `POST /${kind}/sign-out`, {
      summary: 'End this session',
      access: 'session',
      answer: done,
    }),
    session: operation(idOf('getSessionOf'), `GET /${kind}/session`, {
      summary: 'Show the signed-in account',
      access: 'session',
      answer: who,
      example,
    }),
    sessions: operation(idOf('listSessionsOf'), `GET /${kind}/sessions`, {
      summary: 'List open sessions, newest first',
      access: 'session',
      answer: z.object({ sessions: list('Open sessions, at most 20.', session) }),
    }),
    endSessions: operation(idOf('endSessionsOf'), `POST /${kind}/sessions/end`, {
      summary: 'End one session, or all but this one',
      access: 'session',
      body: z.object({
        session_id: given('Id of the session to end. Default: all except this one.', 64, exampleSession).optional(),
      }),
      answer: z.object({ ended: whole('Sessions ended.', 1) }),
      codes: ['not_found'],
    }),
    password: operation(idOf('setPasswordOf'), `POST /${kind}/password`, {
      summary: 'Set or change the password; the first time also the login',
      description: 'All other sessions end, and links sent earlier become invalid.',
      access: 'session',
      body: z.object({
        password: given('New password, 10 to 200 characters.', 1000, examplePassword),
        current_password: currentPassword(),
        login: given('Login; for an operator it is the operator’s name.', 254, 'anna').optional(),
      }),
      exampleBody: { login: 'anna' },
      answer: z.object({ sessions_ended: whole('Other sessions that were ended.', 0) }),
      codes: ['sign_in_failed', 'conflict'],
    }),
    beginFactor: operation(idOf('beginFactorOf'), `POST /${kind}/factor`, {
      summary: 'Create a second factor; it is active after a code of it is confirmed',
      access: 'session',
      body: z.object({ current_password: currentPassword() }),
      exampleBody: { current_password: examplePassword },
      answer: z.object({
        secret: text('Secret to enter in an authenticator app.', 'JBSWY3DPEHPK3PXP'),
        uri: text('The secret as an `otpauth://` URI.', 'otpauth://totp/Turnpike:anna?secret=JBSWY3DPEHPK3PXP'),
        qr: text('The URI as a QR code (SVG).', '<svg/>'),
      }),
      codes: ['sign_in_failed', 'conflict'],
    }),
    confirmFactor: operation(idOf('confirmFactorOf'), `POST /${kind}/factor/confirm`, {
      summary: 'Confirm the second factor with a code; sign-in then requires one',
      access: 'session',
      body: z.object({ code: given('Six-digit code of the second factor.', 20, '492039') }),
      answer: z.object({ done: flag('Always true.'), recovery_codes: recoveryCodes() }),
      isSecret: true,
      codes: ['conflict'],
    }),
    renewRecovery: operation(idOf('renewRecoveryCodesOf'), `POST /${kind}/factor/recovery-codes`, {
      summary: 'Make new recovery codes of the second factor; earlier ones become invalid',
      access: 'session',
      body: z.object({ current_password: currentPassword() }),
      exampleBody: { current_password: examplePassword },
      answer: z.object({ recovery_codes: recoveryCodes() }),
      isSecret: true,
      codes: ['sign_in_failed', 'conflict'],
    }),
    removeFactor: operation(idOf('removeFactorOf'), `POST /${kind}/factor/remove`, {
      summary: 'Remove the second factor',
      access: 'session',
      body: z.object({ current_password: currentPassword() }),
      exampleBody: { current_password: examplePassword },
      answer: done,
      codes: ['sign_in_failed'],
    }),
  }
}

const email = () => given('E-mail address.', 254, exampleLogin)
const operation = operationsOf({ tag: 'Customers' })

const refCode = () => given('Referral code: the value of `?ref=`.', 100, '7KQ2M9XV')
const refOutcome = z.enum(['known', 'unknown', 'off', 'own', 'earlier'])
const refMeanings =
  '`known`: the referrer gets a share. `unknown`: no customer has this code. `off`: the shop gives no shares for ' +
  'referrals. `own`: the referrer has the same mailbox; no share. `earlier`: by the clock, the customer ' +
  'registered before the referrer; no share.'

export const register = operation('register', 'POST /customer/register', {
  summary: 'Register with an e-mail address',
  description:
    'If the shop sends e-mail, the address must first be confirmed by a link, and the answer is the same for an ' +
    'address that is already registered. Otherwise the customer is signed in at once.',
  access: 'public',
  body: z.object({ email: email(), password: password(), ref: refCode().optional() }),
  answer: z.object({
    confirm: flag('Whether a confirmation link was sent by e-mail.'),
    who: z
      .union([who, z.null()])
      .openapi({ description: 'The signed-in account; null until the address is confirmed.' }),
    ref: z.union([refOutcome, z.null()]).openapi({
      description: `Result of the referral code; null without one. It never prevents registration. ${refMeanings}`,
    }),
  }),
  example: { who: null, ref: null },
  codes: ['conflict', 'forbidden'],
})

export const lookAtRef = operation('lookAtRef', 'GET /customer/register/ref', {
  summary: 'Check a referral code',
  access: 'public',
  query: z.object({ code: refCode() }),
  answer: z.object({ ref: refOutcome.openapi({ description: refMeanings }) }),
})

export const confirmAddress = operation('confirmAddress', 'POST /customer/register/confirm', {
  summary: 'Confirm the e-mail address with the link from the e-mail, and sign in',
  description:
    'The password chosen at registration is required too. ' +
    'Wrong passwords count towards the limit of failed sign-ins.',
  access: 'public',
  body: z.object({ link: link(), password: password() }),
  answer: who,
  codes: ['not_found', 'conflict', 'sign_in_failed'],
})

export const forgotPassword = operation('forgotPassword', 'POST /customer/password/forgotten', {
  summary: 'Request a link to set a new password',
  description:
    'The answer is the same whether the customer exists or not. If registration is open, an address without ' +
    'an account gets a link too: setting a password with it registers the customer.',
  access: 'public',
  body: z.object({ email: email() }),
  answer: done,
  codes: ['conflict'],
})

export const resetPassword = operation('resetPassword', 'POST /customer/password/reset', {
  summary: 'Set a new password with the link from the e-mail; all sessions end',
  access: 'public',
  body: z.object({ link: link(), password: password() }),
  answer: done,
  codes: ['not_found'],
})

export const leave = operation('leave', 'POST /customer/leave', {
  affectsNodes: true,
  summary: 'Delete the customer: services stop, tokens and sessions end, personal data is erased',
  access: 'session',
  body: z.object({
    current_password: currentPassword(),
    give_up_balance: z
      .boolean()
      .default(false)
      .openapi({ description: 'Must be true if the balance is above 0; the balance is lost.' }),
  }),
  exampleBody: { current_password: examplePassword },
  answer: done,
  codes: ['sign_in_failed', 'conflict'],
})
