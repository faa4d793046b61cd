import { Refusal } from '../../core/refusal.ts'

/** One answer for an unknown name and a wrong password, so that it reveals no name. */
export const signInFailed = (): Refusal => new Refusal('sign_in_failed', {}, { code_required: false })

export const tooManyAttempts = (retryAfterSeconds: number): Refusal =>
  new Refusal('too_many_attempts', {}, { charged: false }, retryAfterSeconds)

export const tooBusy = (): Refusal => new Refusal('sign_in_busy')

export const invalidSession = (): Refusal => new Refusal('session_invalid')

export const invalidLink = (): Refusal => new Refusal('link_invalid')

/** A provisional session reads and sets the first password. */
export const passwordFirst = (): Refusal => new Refusal('password_first', {}, { charged: false })

export const loginTaken = (): Refusal => new Refusal('login_taken')

export const noPassword = (): Refusal => new Refusal('password_missing')

export const factorThere = (): Refusal => new Refusal('second_factor_exists')
