import { Refusal } from '../../core/refusal.ts'
import { ConstraintViolation, type Tx } from '../../db/transaction.ts'
import { invalidLink } from './errors.ts'
import { letterOf } from './letters.ts'
import { enrol, issueLink, limit, type RegistrationDeps, readEmail } from './registration.ts'
import type { OneTimeLink } from './rules.ts'
import type { OpenedSession, Visitor } from './sessions.ts'

/**
 * The payload of a link by which a visitor continues a purchase. `purchase` is the caller's own text, `ref` a referral
 * code.
 */
type Buying = { readonly email: string; readonly purchase: string; readonly ref?: string | undefined }

function readBuying({ payload }: Pick<OneTimeLink, 'payload'>): Buying {
  const value: unknown = payload?.startsWith('{') ? JSON.parse(payload) : undefined
  if (typeof value !== 'object' || value === null || !('email' in value) || !('purchase' in value)) throw invalidLink()
  const { email, purchase } = value
  const ref = 'ref' in value && typeof value.ref === 'string' ? value.ref : undefined
  if (typeof email !== 'string' || typeof purchase !== 'string') throw invalidLink()
  return { email, purchase, ref }
}

/**
 * E-mails a link by which a visitor continues a purchase: it signs the owner of the address in, or opens an account.
 * The answer, the letter and the writes are the same for every address, so that they reveal no account.
 */
export async function askToBuy(deps: RegistrationDeps, given: Buying, visitor: Visitor): Promise<void> {
  if (!deps.mail) throw new Refusal('mail_not_configured')
  if (!deps.isOpen) throw new Refusal('registration_closed')
  const email = readEmail(given.email)
  await limit(deps.forBuyers, email, visitor)
  const known = await deps.identities.findByLogin('customer', email)
  const payload = JSON.stringify({ ...given, email } satisfies Buying)
  const due = known
    ? { owner: known.owner.id, purpose: 'enter' as const, payload }
    : { owner: null, purpose: 'confirm' as const, payload }
  const link = await issueLink(deps, due)
  deps.mail.post(letterOf('buy', known?.email ?? email, `${deps.siteUrl()}/buy/continue?link=${link.text}`))
}

/** The purchase of a link, which stays usable. */
export const lookAtBuying = async (deps: RegistrationDeps, link: string): Promise<Buying> =>
  readBuying(await deps.signIn.loadLink(link))

/** Signs in by the link, with a new account for a new address, and returns the purchase to continue. */
export async function enterToBuy(
  deps: RegistrationDeps,
  given: { readonly link: string; readonly code?: string | undefined },
  visitor: Visitor,
): Promise<{ readonly opened: OpenedSession & { readonly isCleared?: boolean }; readonly buying: Buying }> {
  const link = await deps.signIn.loadLink(given.link)
  const buying = readBuying(link)
  if (link.purpose === 'enter') return { opened: await deps.signIn.byLink('customer', given, visitor), buying }
  const tried = await deps.signIn.attempt(undefined, visitor.clientPrefix)
  const enter = () => deps.db.transact((tx) => admit(deps, tx, given.link, buying, visitor))
  const opened = await enter().catch((error: unknown) => {
    // Another link of the same address has opened the account in the meantime.
    const isTaken = error instanceof Refusal && error.reason === 'login_taken'
    if (isTaken || (error instanceof ConstraintViolation && error.kind === 'unique')) return enter()
    throw error
  })
  if (opened.isCleared) deps.signIn.forget()
  await tried.succeeded()
  return { opened, buying }
}

/** Opens a session of the account of an address, which is added if there is none. */
async function admit(deps: RegistrationDeps, tx: Tx, link: string, { email, ref }: Buying, visitor: Visitor) {
  await deps.signIn.useLink(tx, link, 'confirm')
  const known = await deps.identities.findByLogin('customer', email, tx)
  // A second factor was set since the letter: only a link of its owner asks for it.
  if (known && known.totpSince !== null && known.confirmedAt !== null) throw invalidLink()
  if (known) {
    const isCleared = await deps.signIn.confirmOwner(tx, known.owner.id)
    return { ...(await deps.signIn.open(tx, known.owner, visitor)), isCleared }
  }
  const { owner } = await enrol(deps, tx, { email, password: null, ref, isConfirmed: true })
  return { ...(await deps.signIn.open(tx, owner, visitor)), isCleared: false }
}
