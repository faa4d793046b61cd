import { malformed, Refusal, tooMany } from '../../kernel/refusal.ts'

/** One answer for an unknown name and a wrong password, so that nobody learns which names there are. */
export const signInFailed = (): Refusal =>
  new Refusal('unauthenticated', 'sign_in_failed', 'Login, password or code is wrong.', { code_required: false })

/** Said only to whoever has given the right password. */
export const codeRequired = (): Refusal =>
  new Refusal('unauthenticated', 'sign_in_failed', 'Give the code that your second factor shows now.', {
    code_required: true,
  })

export const tooManyAttempts = (retryAfterSeconds: number): Refusal =>
  tooMany('Too many attempts. Wait a few minutes and try again.', retryAfterSeconds)

/** Said only to whoever has given the right password. */
export const tooManySessions = (retryAfterSeconds: number): Refusal =>
  tooMany('You have signed in too often. Wait a few minutes; sessions that are open go on.', retryAfterSeconds)

export const tooBusy = (): Refusal =>
  new Refusal('unavailable', 'unavailable', 'Too many people sign in at this moment. Try again in a moment.')

export const invalidSession = (): Refusal =>
  new Refusal('unauthenticated', 'invalid_token', 'Sign in: there is no session, or it has ended.')

export const invalidLink = (): Refusal =>
  new Refusal('missing', 'not_found', 'This link does not work: it was used, is too old, or never was one.')

/** The caller may make a link only if the customer, and not the caller, gets it. */
export const linkNeedsOwner = (): Refusal =>
  new Refusal(
    'forbidden',
    'forbidden',
    'This customer has a password or a token, and no e-mail address for the link. Ask an owner of the shop.',
    { needed: 'owner', has: 'support' },
  )

export const noSuchSession = (): Refusal => new Refusal('missing', 'not_found', 'There is no such session.')

export const badPassword = (problem: string): Refusal => malformed([{ field: 'password', problem }])

export const badLogin = (): Refusal =>
  malformed([
    {
      field: 'login',
      problem: 'must be 3 to 64 letters, digits, dots, dashes and underscores, or your own confirmed e-mail address',
    },
  ])

export const badEmail = (): Refusal => malformed([{ field: 'email', problem: 'must be an e-mail address' }])

export const loginTaken = (): Refusal =>
  new Refusal('conflict', 'conflict', 'Somebody else has this login. Choose another one.')

export const noPassword = (): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    'Set a password first: without one there is nothing a second factor could add to.',
  )

export const factorThere = (): Refusal =>
  new Refusal('conflict', 'conflict', 'There is a second factor already. Remove it first.')

export const noFactor = (): Refusal => new Refusal('conflict', 'conflict', 'There is no second factor to confirm.')

export const wrongCode = (): Refusal =>
  malformed([{ field: 'code', problem: 'is not what the second factor shows now, or was used already' }])

export const registrationClosed = (): Refusal =>
  new Refusal('forbidden', 'forbidden', 'This shop does not take new customers by itself. Ask the operator.')

export const noMail = (): Refusal =>
  new Refusal('conflict', 'conflict', 'This shop sends no mail. Ask the operator for a link to sign in with.')

export const debtLeft = (debtRub: number): Refusal =>
  new Refusal('conflict', 'conflict', `You owe ${debtRub} RUB. Pay them first, or ask whoever runs the shop.`, {
    debt_rub: debtRub,
  })

export const balanceLeft = (balanceRub: number): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    `There are ${balanceRub} RUB on the balance. Say give_up_balance: true to leave them behind.`,
    { balance_rub: balanceRub },
  )
