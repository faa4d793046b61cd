import { z } from '@hono/zod-openapi'
import { toIso } from '../../core/time.ts'
import { roles } from '../../domains/operators/rules.ts'
import type { OwnerKind, Session } from '../../domains/signin/rules.ts'
import { exampleAt, flag, moment, text, whole } from '../fields.ts'
import { operation } from '../operation.ts'

const exampleSession = 'ses_01k73sf8000000000000000000'
const exampleLogin = 'anna@example.com'
const exampleLink = 'tpl_…'

const given = (description: string, most: number, example?: string) =>
  z
    .string()
    .max(most, `must be at most ${most} characters`)
    .openapi({ description, ...(example !== undefined && { example }) })

const password = () => given('The password.', 1000, 'correct horse battery')
const currentPassword = () =>
  given('The password that holds now; not needed where there is none yet.', 1000, 'correct horse battery').optional()
const code = () => given('Six digits that the second factor shows now.', 20, '492039')
const link = () => given('What stands in the link after the `=`.', 100, exampleLink)

const who = z
  .object({
    kind: z.enum(['customer', 'operator']).openapi({ description: 'As whom one has signed in.' }),
    id: text('The id of the customer or operator.', 'cus_01k73sf8000000000000000000'),
    name: text('How the operator calls him.', 'Anna'),
    role: z.enum(roles).nullable().openapi({ description: 'An operator’s role; null for a customer.' }),
    scopes: z
      .array(z.string())
      .openapi({ description: 'What a customer’s session may do: `read`, `trade`, `pay`, `passwords`.' }),
    login: text('What one signs in with; null before a password was set.', exampleLogin).nullable(),
    email: text('Where letters go; null without one.', exampleLogin).nullable(),
    has_password: flag('Whether there is a password.'),
    has_factor: flag('Whether signing in takes a code as well.'),
    session_id: text('This session.', exampleSession),
    expires_at: moment('When it ends by itself.'),
    viewed_by: text('The operator who looks at a customer’s pages, and changes nothing; else null.').nullable(),
  })
  .openapi('Who')

const exampleWho = (kind: OwnerKind): z.input<typeof who> => ({
  kind,
  id: kind === 'customer' ? 'cus_01k73sf8000000000000000000' : 'opr_01k73sf8000000000000000000',
  name: 'Anna',
  role: kind === 'customer' ? null : 'support',
  scopes: kind === 'customer' ? ['read', 'trade'] : [],
  login: kind === 'customer' ? exampleLogin : 'anna',
  email: kind === 'customer' ? exampleLogin : null,
  has_password: true,
  has_factor: false,
  session_id: exampleSession,
  expires_at: toIso(exampleAt),
  viewed_by: null,
})

const session = z
  .object({
    session_id: text('Its id.', exampleSession),
    current: flag('Whether it is this one.'),
    source: text('Where it was opened from.', '203.0.113.7').nullable(),
    agent: text('What the browser called itself.', 'Mozilla/5.0').nullable(),
    created_at: moment('When it was opened.'),
    used_at: moment('When it was last used, to the minute.'),
    expires_at: moment('When it ends by itself.'),
  })
  .openapi('Session')

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
const tagOf = (kind: OwnerKind) => (kind === 'customer' ? 'Customers' : 'Operators')
const failed = ['sign_in_failed'] as const

/** Signing in, the same for both kinds. */
export function createSignInShapes(kind: OwnerKind) {
  const common = { tag: tagOf(kind) }
  const idOf = (name: string) => `${name}${capital(kind)}`
  return {
    offers: operation({
      ...common,
      id: idOf('getOffersFor'),
      method: 'GET',
      path: `/${kind}/offers`,
      summary: 'What a page may offer to somebody who has not signed in',
      access: 'public',
      answer: z.object({
        registration: flag('Whether one may sign up by oneself.'),
        mail: flag('Whether the shop sends letters, so that a forgotten password can be set anew.'),
      }),
      example: { registration: false, mail: false },
    }),
    signIn: operation({
      ...common,
      id: idOf('signIn'),
      method: 'POST',
      path: `/${kind}/sign-in`,
      summary: 'Sign in with login, password and, where there is one, the second factor',
      description: 'Sets a cookie. Where a code is needed, the right password gets `code_required: true`.',
      access: 'public',
      body: z.object({ login: given('The login.', 254, exampleLogin), password: password(), code: code().optional() }),
      exampleBody: { login: exampleLogin, password: 'correct horse battery' },
      answer: who,
      example: exampleWho(kind),
      codes: failed,
    }),
    byLink: operation({
      ...common,
      id: idOf('signInByLink'),
      method: 'POST',
      path: `/${kind}/sign-in/link`,
      summary: 'Sign in with a link that works once and, where there is one, the second factor',
      description: 'Where a code is needed, the right link gets `code_required: true` and goes on working.',
      access: 'public',
      body: z.object({ link: link(), code: code().optional() }),
      exampleBody: { link: exampleLink },
      answer: who,
      example: exampleWho(kind),
      codes: ['not_found', ...failed],
    }),
    signOut: operation({
      ...common,
      id: idOf('signOut'),
      method: 'POST',
      path: `/${kind}/sign-out`,
      summary: 'End this session',
      access: 'session',
      answer: done,
      example: { done: true },
    }),
    session: operation({
      ...common,
      id: idOf('getSessionOf'),
      method: 'GET',
      path: `/${kind}/session`,
      summary: 'Who has signed in here',
      access: 'session',
      answer: who,
      example: exampleWho(kind),
    }),
    sessions: operation({
      ...common,
      id: idOf('listSessionsOf'),
      method: 'GET',
      path: `/${kind}/sessions`,
      summary: 'List open sessions, newest first',
      access: 'session',
      answer: z.object({ sessions: z.array(session).openapi({ description: 'At most 20.' }) }),
      example: {
        sessions: [
          {
            session_id: exampleSession,
            current: true,
            source: '203.0.113.7',
            agent: 'Mozilla/5.0',
            created_at: toIso(exampleAt),
            used_at: toIso(exampleAt),
            expires_at: toIso(exampleAt),
          },
        ],
      },
    }),
    endSessions: operation({
      ...common,
      id: idOf('endSessionsOf'),
      method: 'POST',
      path: `/${kind}/sessions/end`,
      summary: 'End one session, or all but this one',
      access: 'session',
      body: z.object({ session_id: given('Which one; all others without it.', 64, exampleSession).optional() }),
      exampleBody: {},
      answer: z.object({ ended: whole('How many were ended.', 1) }),
      example: { ended: 1 },
      codes: ['not_found'],
    }),
    password: operation({
      ...common,
      id: idOf('setPasswordOf'),
      method: 'POST',
      path: `/${kind}/password`,
      summary: 'Set a password, and the login with the first one',
      description: 'Every other session ends, and links that were sent before work no more.',
      access: 'session',
      body: z.object({
        password: given('The new password, 10 to 200 characters.', 1000, 'correct horse battery'),
        current_password: currentPassword(),
        login: given('The login; an operator’s is his name.', 254, 'anna').optional(),
      }),
      exampleBody: { password: 'correct horse battery', login: 'anna' },
      answer: z.object({ sessions_ended: whole('How many other sessions have ended.', 0) }),
      example: { sessions_ended: 0 },
      codes: ['sign_in_failed', 'conflict'],
    }),
    beginFactor: operation({
      ...common,
      id: idOf('beginFactorOf'),
      method: 'POST',
      path: `/${kind}/factor`,
      summary: 'Make a second factor; it counts once a code of it was given',
      access: 'session',
      body: z.object({ current_password: currentPassword() }),
      exampleBody: { current_password: 'correct horse battery' },
      answer: z.object({
        secret: text('To type into an authenticator.', 'JBSWY3DPEHPK3PXP'),
        uri: text('The same as an address, `otpauth://…`.', 'otpauth://totp/Turnpike:anna?secret=JBSWY3DPEHPK3PXP'),
        qr: text('The address as a drawing (SVG).', '<svg/>'),
      }),
      example: {
        secret: 'JBSWY3DPEHPK3PXP',
        uri: 'otpauth://totp/Turnpike:anna?secret=JBSWY3DPEHPK3PXP',
        qr: '<svg/>',
      },
      codes: ['sign_in_failed', 'conflict'],
    }),
    confirmFactor: operation({
      ...common,
      id: idOf('confirmFactorOf'),
      method: 'POST',
      path: `/${kind}/factor/confirm`,
      summary: 'Give a first code, from which on signing in takes one',
      access: 'session',
      body: z.object({ code: code() }),
      exampleBody: { code: '492039' },
      answer: done,
      example: { done: true },
      codes: ['conflict'],
    }),
    removeFactor: operation({
      ...common,
      id: idOf('removeFactorOf'),
      method: 'POST',
      path: `/${kind}/factor/remove`,
      summary: 'Take the second factor away',
      access: 'session',
      body: z.object({ current_password: currentPassword() }),
      exampleBody: { current_password: 'correct horse battery' },
      answer: done,
      example: { done: true },
      codes: ['sign_in_failed'],
    }),
  }
}

const email = () => given('An e-mail address.', 254, exampleLogin)
const tag = tagOf('customer')

const refCode = () => given('The code of whoever brought the customer: what stands behind `?ref=`.', 100, '7KQ2M9XV')
const refOutcome = z.enum(['known', 'unknown', 'off', 'own', 'earlier'])
const refMeanings =
  '`known`: its owner gets his share. `unknown`: nobody has this code. `off`: nothing is given here for bringing ' +
  'customers. `own`: it is the code of the same person, who gets nothing for himself. `earlier`: as the clock has it ' +
  'the newcomer was here before its owner, who gets nothing.'

export const register = operation({
  id: 'register',
  method: 'POST',
  path: '/customer/register',
  tag,
  summary: 'Sign up with an e-mail address',
  description:
    'Where the shop sends letters, the address is confirmed by a link first, and the answer is the same for one that ' +
    'is known already. Else the session is open at once.',
  access: 'public',
  body: z.object({ email: email(), password: password(), ref: refCode().optional() }),
  exampleBody: { email: exampleLogin, password: 'correct horse battery' },
  answer: z.object({
    confirm: flag('Whether a letter was sent whose link is to be opened.'),
    who: z
      .union([who, z.null()])
      .openapi({ description: 'Who has signed in; null while the address is to be confirmed.' }),
    ref: z.union([refOutcome, z.null()]).openapi({
      description: `What becomes of the code; null without one. It never stops anybody. ${refMeanings}`,
    }),
  }),
  example: { confirm: true, who: null, ref: null },
  codes: ['conflict', 'forbidden'],
})

export const lookAtRef = operation({
  id: 'lookAtRef',
  method: 'GET',
  path: '/customer/register/ref',
  tag,
  summary: 'Whether the code of a referral link is one of this shop',
  access: 'public',
  query: z.object({ code: refCode() }),
  answer: z.object({ ref: refOutcome.openapi({ description: refMeanings }) }),
  example: { ref: 'known' },
})

export const confirmAddress = operation({
  id: 'confirmAddress',
  method: 'POST',
  path: '/customer/register/confirm',
  tag,
  summary: 'Open the link of the letter: the address is confirmed and the session open',
  description:
    'It takes the password that was chosen when signing up as well: whoever has only one of the two gets nothing. ' +
    'Wrong ones are counted as those of signing in are.',
  access: 'public',
  body: z.object({ link: link(), password: password() }),
  exampleBody: { link: exampleLink, password: 'correct horse battery' },
  answer: who,
  example: exampleWho('customer'),
  codes: ['not_found', 'conflict', 'sign_in_failed'],
})

export const forgotPassword = operation({
  id: 'forgotPassword',
  method: 'POST',
  path: '/customer/password/forgotten',
  tag,
  summary: 'Ask for a link by which a new password is set',
  description:
    'The answer is the same whether there is such a customer or not. Where one may sign up, an address that nobody ' +
    'signs in with yet gets a link as well: who sets a password by it has signed up.',
  access: 'public',
  body: z.object({ email: email() }),
  exampleBody: { email: exampleLogin },
  answer: done,
  example: { done: true },
  codes: ['conflict'],
})

export const resetPassword = operation({
  id: 'resetPassword',
  method: 'POST',
  path: '/customer/password/reset',
  tag,
  summary: 'Set a new password by the link of a letter; all sessions end',
  access: 'public',
  body: z.object({ link: link(), password: password() }),
  exampleBody: { link: exampleLink, password: 'correct horse battery' },
  answer: done,
  example: { done: true },
  codes: ['not_found'],
})

export const leave = operation({
  id: 'leave',
  method: 'POST',
  path: '/customer/leave',
  tag,
  summary: 'Delete the customer: all that he has stops, tokens and sessions end, who he was is forgotten',
  access: 'session',
  body: z.object({
    current_password: currentPassword(),
    give_up_balance: z.boolean().default(false).openapi({ description: 'Needed where there is money left.' }),
  }),
  exampleBody: { current_password: 'correct horse battery' },
  answer: done,
  example: { done: true },
  codes: ['sign_in_failed', 'conflict'],
})
