import { malformed, Refusal } from '../../core/refusal.ts'

/** One answer for an unknown name and a wrong password, so that nobody learns which names there are. */
export const signInFailed = (): Refusal => new Refusal('sign_in_failed', {}, { code_required: false })

/** Said only to whoever has given the right password. */
export const codeRequired = (): Refusal =>
  new Refusal(
    'code_required',
    {},
    {
      code_required: true,
    },
  )

export const tooManyAttempts = (retryAfterSeconds: number): Refusal =>
  new Refusal('too_many_attempts', {}, { charged: false }, retryAfterSeconds)

/** Said only to whoever has given the right password. */
export const tooManySessions = (retryAfterSeconds: number): Refusal =>
  new Refusal('too_many_sessions', {}, { charged: false }, retryAfterSeconds)

export const tooBusy = (): Refusal => new Refusal('sign_in_busy')

export const invalidSession = (): Refusal => new Refusal('session_invalid')

export const invalidLink = (): Refusal => new Refusal('link_invalid')

/** The caller may make a link only if the customer, and not the caller, gets it. */
export const linkNeedsOwner = (): Refusal => new Refusal('link_needs_owner', {}, { needed: 'owner', has: 'support' })

/** The customer has used the account since an operator below `owner` made the link of this session. */
export const linkOutdated = (): Refusal => new Refusal('link_outdated', {}, { charged: false })

/** A provisional session reads and sets the first password. */
export const passwordFirst = (): Refusal => new Refusal('password_first', {}, { charged: false })

export const noSuchSession = (): Refusal => new Refusal('session_not_found')

export const badPassword = (problem: string): Refusal => malformed([{ field: 'password', problem }])

export const badLogin = (): Refusal =>
  malformed([
    {
      field: 'login',
      problem: 'must be 3 to 64 letters, digits, dots, dashes and underscores, or your own confirmed e-mail address',
    },
  ])

export const badEmail = (): Refusal => malformed([{ field: 'email', problem: 'must be an e-mail address' }])

export const loginTaken = (): Refusal => new Refusal('login_taken')

export const noPassword = (): Refusal => new Refusal('password_missing')

export const factorThere = (): Refusal => new Refusal('second_factor_exists')

export const noFactor = (): Refusal => new Refusal('second_factor_missing')

export const wrongCode = (): Refusal =>
  malformed([{ field: 'code', problem: 'is not what the second factor shows now, or was used already' }])

export const registrationClosed = (): Refusal => new Refusal('registration_closed')

export const noMail = (): Refusal => new Refusal('mail_not_configured')

export const debtLeft = (debtRub: number): Refusal =>
  new Refusal(
    'debt_left',
    { debt_rub: debtRub },
    {
      debt_rub: debtRub,
    },
  )

export const balanceLeft = (balanceRub: number): Refusal =>
  new Refusal('balance_left', { balance_rub: balanceRub }, { balance_rub: balanceRub })
