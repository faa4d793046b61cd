import { bind } from '../../core/bind.ts'
import type { IdentitiesDeps } from './identities.ts'
import * as identities from './identities.ts'
import { assertPassword } from './passwords.ts'
import { createRegistration } from './registration.ts'
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

export { createRegistration }
