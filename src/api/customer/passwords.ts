import { type Caller, passwordsHidden } from '../../domains/customers/index.ts'

/** Whether a caller may see existing passwords, keys and secret links. New ones are in the answer that creates them. */
export const seesPasswords = ({ scopes }: Pick<Caller, 'scopes'>): boolean => scopes.includes('passwords')

/** For an answer that is of no use without them. */
export function assertSeesPasswords(caller: Pick<Caller, 'scopes'>): void {
  if (!seesPasswords(caller)) throw passwordsHidden()
}
