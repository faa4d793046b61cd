import { bind } from '../../core/bind.ts'
import { askToBuy, enterToBuy, lookAtBuying } from './buying.ts'
import type { IdentitiesDeps } from './identities.ts'
import * as identities from './identities.ts'
import { assertPassword } from './passwords.ts'
import * as registration from './registration.ts'
import * as sessions from './sessions.ts'

export { endSignInsAfterRestore } from './after-restore.ts'
export { createSignInVerifier } from './audit.ts'
export { passwordFirst } from './errors.ts'
export { createPasswordWork } from './passwords.ts'
export type { Letter, Mail } from './ports.ts'
export type { Credential, OpenedSession, Visitor } from './sessions.ts'

export type SignIn = ReturnType<typeof createSignIn>
export type Identities = ReturnType<typeof createIdentities>
export type Registration = ReturnType<typeof createRegistration>

const { withBuckets, lockCompared: _, ...ofSessions } = sessions

export const createSignIn = (deps: sessions.SignInDeps) => bind(withBuckets(deps), ofSessions)

export const createIdentities = (deps: IdentitiesDeps) => ({ ...bind(deps, identities), assertPassword })

export const createRegistration = (given: Parameters<typeof registration.withBuckets>[0]) => ({
  /** The choices of the sign-in page. */
  offers: { registration: given.isOpen, mail: given.mail !== undefined },
  ...bind(registration.withBuckets(given), {
    register: registration.register,
    invite: registration.invite,
    lookAtRef: registration.lookAtRef,
    confirm: registration.confirm,
    askReset: registration.askReset,
    reset: registration.reset,
    eraseCustomer: registration.eraseCustomer,
    askToBuy,
    enterToBuy,
    lookAtBuying,
  }),
})
