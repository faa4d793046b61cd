import { type Caller, passwordsHidden } from '../../domains/customers/index.ts'

/**
 * Whether a caller is shown passwords, keys and secret links that exist already. What a request makes (a purchase, a
 * new password, a new device) is in its own answer, whatever the caller's scopes are.
 */
export const seesPasswords = ({ scopes }: Pick<Caller, 'scopes'>): boolean => scopes.includes('passwords')

/** For an answer that is of no use without them. */
export function assertSeesPasswords(caller: Pick<Caller, 'scopes'>): void {
  if (!seesPasswords(caller)) throw passwordsHidden()
}
