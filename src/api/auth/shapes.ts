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
const currentPassword = () =>
  given('The password that holds now; not needed where there is none yet.', 1000, examplePassword).optional()
const code = () => given('Six digits that the second factor shows now.', 20, '492039')
const link = () => given('What stands in the link after the `=`.', 100, exampleLink)

const who = named('Who', {
  kind: choice('As whom one has signed in.', ['customer', 'operator']),
  id: text('The id of the customer or operator.', 'cus_01k73sf8000000000000000000'),
  name: text('The name that operators use.', 'Anna'),
  role: choice('An operator’s role; null for a customer.', roles).nullable(),
  scopes: list('What a customer’s session may do: `read`, `trade`, `pay`, `passwords`.', text('A scope.', 'read')),
  login: text('What one signs in with; null before a password was set.', exampleLogin).nullable(),
  email: text('Where letters go; null without one.', exampleLogin).nullable(),
  has_password: flag('Whether there is a password.'),
  has_factor: flag('Whether signing in takes a code as well.', false),
  session_id: text('This session.', exampleSession),
  expires_at: moment('When it ends by itself.'),
  viewed_by: text('The operator who looks at a customer’s pages, and changes nothing; else null.').nullable(),
})

const session = named('Session', {
  session_id: text('Its id.', exampleSession),
  current: flag('Whether it is this one.'),
  source: text('Where it was opened from.', '203.0.113.7').nullable(),
  agent: text('What the browser called itself.', 'Mozilla/5.0').nullable(),
  created_at: moment('When it was opened.'),
  used_at: moment('When it was last used, to the minute.'),
  expires_at: moment('When it ends by itself.'),
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

const done = z.object({ done: flag('Whether it was done.') })
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
  const idOf = (name: string) => `${name}${capital(kind)}`
  return {
    offers: operation(idOf('getOffersFor'), `GET /${kind}/offers`, {
      summary: 'What a page may offer to a visitor who has not signed in',
      access: 'public',
      answer: z.object({
        registration: flag('Whether one may sign up by oneself.'),
        mail: flag('Whether the shop sends letters, so that a forgotten password can be set again.'),
      }),
    }),
    signIn: operation(idOf('signIn'), `POST /${kind}/sign-in`, {
      summary: 'Sign in with login, password and, where there is one, the second factor',
      description: 'Sets a cookie. Where a code is needed, the right password gets `code_required: true`.',
      access: 'public',
      body: z.object({ login: given('The login.', 254, exampleLogin), password: password(), code: code().optional() }),
      answer: who,
      example,
      codes: ['sign_in_failed'],
    }),
    byLink: operation(idOf('signInByLink'), `POST /${kind}/sign-in/link`, {
      summary: 'Sign in with a link that works once and, where there is one, the second factor',
      description: 'Where a code is needed, the right link gets `code_required: true` and goes on working.',
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
      summary: 'Who has signed in here',
      access: 'session',
      answer: who,
      example,
    }),
    sessions: operation(idOf('listSessionsOf'), `GET /${kind}/sessions`, {
      summary: 'List open sessions, newest first',
      access: 'session',
      answer: z.object({ sessions: list('At most 20.', session) }),
    }),
    endSessions: operation(idOf('endSessionsOf'), `POST /${kind}/sessions/end`, {
      summary: 'End one session, or all but this one',
      access: 'session',
      body: z.object({ session_id: given('Which one; all others without it.', 64, exampleSession).optional() }),
      answer: z.object({ ended: whole('How many were ended.', 1) }),
      codes: ['not_found'],
    }),
    password: operation(idOf('setPasswordOf'), `POST /${kind}/password`, {
      summary: 'Set a password, and the login with the first one',
      description: 'Every other session ends, and links that were sent before work no more.',
      access: 'session',
      body: z.object({
        password: given('The new password, 10 to 200 characters.', 1000, examplePassword),
        current_password: currentPassword(),
        login: given('The login; an operator’s is the operator’s name.', 254, 'anna').optional(),
      }),
      exampleBody: { login: 'anna' },
      answer: z.object({ sessions_ended: whole('How many other sessions have ended.', 0) }),
      codes: ['sign_in_failed', 'conflict'],
    }),
    beginFactor: operation(idOf('beginFactorOf'), `POST /${kind}/factor`, {
      summary: 'Make a second factor; it counts once a code of it was given',
      access: 'session',
      body: z.object({ current_password: currentPassword() }),
      exampleBody: { current_password: examplePassword },
      answer: z.object({
        secret: text('To type into an authenticator.', 'JBSWY3DPEHPK3PXP'),
        uri: text('The same as an address, `otpauth://…`.', 'otpauth://totp/Turnpike:anna?secret=JBSWY3DPEHPK3PXP'),
        qr: text('The address as a drawing (SVG).', '<svg/>'),
      }),
      codes: ['sign_in_failed', 'conflict'],
    }),
    confirmFactor: operation(idOf('confirmFactorOf'), `POST /${kind}/factor/confirm`, {
      summary: 'Give a first code, from which on signing in takes one',
      access: 'session',
      body: z.object({ code: code() }),
      answer: done,
      codes: ['conflict'],
    }),
    removeFactor: operation(idOf('removeFactorOf'), `POST /${kind}/factor/remove`, {
      summary: 'Take the second factor away',
      access: 'session',
      body: z.object({ current_password: currentPassword() }),
      exampleBody: { current_password: examplePassword },
      answer: done,
      codes: ['sign_in_failed'],
    }),
  }
}

const email = () => given('An e-mail address.', 254, exampleLogin)
const operation = operationsOf({ tag: 'Customers' })

const refCode = () => given('The referrer’s code: the value of `?ref=`.', 100, '7KQ2M9XV')
const refOutcome = z.enum(['known', 'unknown', 'off', 'own', 'earlier'])
const refMeanings =
  '`known`: its owner gets a share. `unknown`: no customer has this code. `off`: nothing is given here for bringing ' +
  'customers. `own`: it is the code of the same person, who gets nothing. `earlier`: as the clock has it ' +
  'the newcomer was here before its owner, who gets nothing.'

export const register = operation('register', 'POST /customer/register', {
  summary: 'Sign up with an e-mail address',
  description:
    'Where the shop sends letters, the address is confirmed by a link first, and the answer is the same for one that ' +
    'is known already. Else the session is open at once.',
  access: 'public',
  body: z.object({ email: email(), password: password(), ref: refCode().optional() }),
  answer: z.object({
    confirm: flag('Whether a letter was sent whose link is to be opened.'),
    who: z
      .union([who, z.null()])
      .openapi({ description: 'Who has signed in; null while the address is to be confirmed.' }),
    ref: z.union([refOutcome, z.null()]).openapi({
      description: `What becomes of the code; null without one. It never stops anybody. ${refMeanings}`,
    }),
  }),
  example: { who: null, ref: null },
  codes: ['conflict', 'forbidden'],
})

export const lookAtRef = operation('lookAtRef', 'GET /customer/register/ref', {
  summary: 'Whether the code of a referral link is one of this shop',
  access: 'public',
  query: z.object({ code: refCode() }),
  answer: z.object({ ref: refOutcome.openapi({ description: refMeanings }) }),
})

export const confirmAddress = operation('confirmAddress', 'POST /customer/register/confirm', {
  summary: 'Open the link of the letter: the address is confirmed and the session open',
  description:
    'It takes the password that was chosen when signing up as well: one of the two is not enough. ' +
    'Wrong ones are counted as those of signing in are.',
  access: 'public',
  body: z.object({ link: link(), password: password() }),
  answer: who,
  codes: ['not_found', 'conflict', 'sign_in_failed'],
})

export const forgotPassword = operation('forgotPassword', 'POST /customer/password/forgotten', {
  summary: 'Ask for a link by which a new password is set',
  description:
    'The answer is the same whether there is such a customer or not. Where one may sign up, an address without ' +
    'an account gets a link as well: setting a password by it signs up.',
  access: 'public',
  body: z.object({ email: email() }),
  answer: done,
  codes: ['conflict'],
})

export const resetPassword = operation('resetPassword', 'POST /customer/password/reset', {
  summary: 'Set a new password by the link of a letter; all sessions end',
  access: 'public',
  body: z.object({ link: link(), password: password() }),
  answer: done,
  codes: ['not_found'],
})

export const leave = operation('leave', 'POST /customer/leave', {
  summary: 'Delete the customer: all services stop, tokens and sessions end, personal data is forgotten',
  access: 'session',
  body: z.object({
    current_password: currentPassword(),
    give_up_balance: z.boolean().default(false).openapi({ description: 'Needed where there is money left.' }),
  }),
  exampleBody: { current_password: examplePassword },
  answer: done,
  codes: ['sign_in_failed', 'conflict'],
})
