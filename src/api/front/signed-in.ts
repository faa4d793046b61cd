import { Refusal } from '../../core/refusal.ts'
import type { SignIn } from '../../domains/signin/index.ts'
import type { Session } from '../../domains/signin/rules.ts'
import { findSessionText } from '../session.ts'

export type SignedInDeps = { readonly signIn: Pick<SignIn, 'load'>; readonly publicUrl: () => string }

/** The session of a browser; undefined without one, and if it has ended. */
export async function findSignedIn(
  deps: SignedInDeps,
  request: Pick<Request, 'headers'>,
): Promise<Session | undefined> {
  const text = findSessionText(request, 'customer', deps.publicUrl())
  if (text === undefined) return undefined
  return deps.signIn.load('customer', text).catch((error: unknown) => {
    if (error instanceof Refusal && error.kind !== 'unavailable') return undefined
    throw error
  })
}
