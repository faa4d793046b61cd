import { networkOf } from '../../core/address.ts'
import type { BoundCases } from '../../core/bind.ts'
import type { CustomerId } from '../../core/ids.ts'
import { type Kopecks, toRoubles } from '../../core/money.ts'
import { Refusal, refuseField, refuseTogether } from '../../core/refusal.ts'
import { type SharedTokenBuckets, secondsUntilOne } from '../../core/token-buckets.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import { registeredName } from '../customers/rules.ts'
import type { Ledger } from '../ledger/index.ts'
import { invalidLink, loginTaken, tooManyAttempts } from './errors.ts'
import type * as cases from './identities.ts'
import { letterOf } from './letters.ts'
import type { assertPassword } from './passwords.ts'
import type { Mail } from './ports.ts'
import { byLetter, forNewcomer, isEmail, type LinkPurpose, type OneTimeLink, toLogin, toMailbox } from './rules.ts'
import type * as sessions from './sessions.ts'
import { lockCompared, type OpenedSession, type SignInDeps, type Visitor } from './sessions.ts'

/**
 * Letters of one kind in an hour to one mailbox, whatever the `+` tag of its address: those that one network asks for,
 * so that a stranger uses up none of the owner's, and those of all networks, which bound a flood. And those that one
 * client prefix asks for, to any mailbox.
 */
const fromNetwork = { perSecond: 3 / 3600, burst: 3 }
const toMailboxInAll = { perSecond: 12 / 3600, burst: 12 }
const forPrefix = { perSecond: 10 / 3600, burst: 10 }

type LetterLimits = {
  readonly ofPrefix: SharedTokenBuckets
  readonly ofNetwork: SharedTokenBuckets
  readonly inAll: SharedTokenBuckets
}

/** A registration until its address is confirmed. `password` is the hash, `ref` a referral code. */
type Waiting = { readonly email: string; readonly password: string; readonly ref?: string | undefined }
/** The same, if the password is chosen at the link. */
type WaitingAddress = Pick<Waiting, 'email'> & { readonly password?: undefined }

type Referrals = {
  /** `off` while the shop pays no referrals; undefined for an unknown code. */
  findReferrer(reader: Reader, code: string): Promise<CustomerId | 'off' | undefined>
  bring(tx: Tx, customer: CustomerId, referrer: CustomerId): Promise<'brought' | 'himself' | 'earlier' | 'again'>
}

/**
 * The result of a referral code, which never stops a registration. `own`: the code is the customer's. `earlier`: by the
 * clocks the customer registered before the code's owner.
 */
type RefOutcome = 'known' | 'unknown' | 'off' | 'own' | 'earlier'

/** Without a session the address has to be confirmed first. */
type Registered = { readonly opened: OpenedSession | undefined; readonly ref: RefOutcome | null }

type Erasing = {
  erase(
    customer: CustomerId,
    request: {
      readonly by: 'customer'
      readonly isConfirmed: (lost: { readonly balance: Kopecks }) => boolean
      readonly assertStill: (tx: Tx) => Promise<void>
    },
  ): Promise<unknown>
}

/** Parses the payload of a link to confirm an address. */
function parseWaiting(payload: string): Waiting | WaitingAddress | undefined {
  const value: unknown = JSON.parse(payload)
  if (typeof value !== 'object' || value === null || !('email' in value)) return undefined
  const { email } = value
  const password = 'password' in value ? value.password : undefined
  const ref = 'ref' in value && typeof value.ref === 'string' ? value.ref : undefined
  if (typeof email !== 'string') return undefined
  return typeof password === 'string' ? { email, password, ref } : { email }
}

type Given = Omit<SignInDeps, 'customers'> & {
  readonly signIn: BoundCases<
    Pick<
      typeof sessions,
      | 'open'
      | 'issueLink'
      | 'isNewcomer'
      | 'attempt'
      | 'loadLink'
      | 'byLink'
      | 'assertPassword'
      | 'useLink'
      | 'forget'
      | 'confirmOwner'
    >
  >
  readonly identities: BoundCases<
    Pick<typeof cases, 'profile' | 'create' | 'findByLogin' | 'hash' | 'replacePassword' | 'confirm'>
  > & {
    readonly assertPassword: typeof assertPassword
  }
  readonly customers: Customers
  readonly ledger: Pick<Ledger, 'balance'>
  readonly mail: Mail | undefined
  readonly isOpen: boolean
  readonly erasing: Erasing
  readonly referrals: Referrals
  readonly siteUrl: () => string
}
export type RegistrationDeps = ReturnType<typeof withBuckets>

/** Each kind has limits of its own: made-up purchases behind a shared address keep no customer from a new password. */
const openLimits = ({ buckets }: Pick<Given, 'buckets'>, name: string): LetterLimits => ({
  ofPrefix: buckets(`${name} of a client`, forPrefix),
  ofNetwork: buckets(`${name} of a network`, fromNetwork),
  inAll: buckets(name, toMailboxInAll),
})

export const withBuckets = (given: Given) => ({
  ...given,
  forBuyers: openLimits(given, 'letters to buyers'),
  forNewcomers: openLimits(given, 'letters to newcomers'),
  forForgetful: openLimits(given, 'letters'),
})

export function readEmail(text: string): string {
  const email = toLogin(text)
  if (!isEmail(email)) throw refuseField('email', 'email')
  return email
}

export async function limit(of: LetterLimits, email: string, { clientPrefix }: Visitor) {
  const ofPrefix = await of.ofPrefix.take(clientPrefix, 1)
  if (ofPrefix.taken === 0) throw tooManyAttempts(secondsUntilOne(forPrefix, ofPrefix.level))
  const mailbox = toMailbox(email)
  const own = await of.ofNetwork.take(`${networkOf(clientPrefix)} ${mailbox}`, 1)
  if (own.taken === 0) throw tooManyAttempts(secondsUntilOne(fromNetwork, own.level))
  const inAll = await of.inAll.take(mailbox, 1)
  if (inAll.taken === 0) throw tooManyAttempts(secondsUntilOne(toMailboxInAll, inAll.level))
}

const toOutcome = (found: CustomerId | 'off' | undefined): RefOutcome =>
  found === undefined ? 'unknown' : found === 'off' ? 'off' : 'known'

/** Whether an address has the same mailbox as the referrer. */
async function isSamePerson(deps: RegistrationDeps, reader: Reader, email: string, referrer: CustomerId) {
  const known = await deps.identities.profile({ kind: 'customer', id: referrer }, reader)
  return [known.login, known.email].some((each) => each !== null && toMailbox(each) === toMailbox(email))
}

/** The referrer of a new customer, and the result of the code. */
async function findReferrer(deps: RegistrationDeps, reader: Reader, { email, ref }: Pick<Waiting, 'email' | 'ref'>) {
  if (ref === undefined) return { referrer: undefined, outcome: null }
  const found = await deps.referrals.findReferrer(reader, ref)
  const outcome = toOutcome(found)
  if (found === undefined || found === 'off') return { referrer: undefined, outcome }
  return (await isSamePerson(deps, reader, email, found))
    ? { referrer: undefined, outcome: 'own' as const }
    : { referrer: found, outcome }
}

/** Adds a customer, with the referrer that a code names. `isConfirmed`: the address was confirmed by a letter. */
export async function enrol(
  deps: RegistrationDeps,
  tx: Tx,
  waiting: Pick<Waiting, 'email' | 'ref'> & { readonly password: string | null; readonly isConfirmed: boolean },
) {
  const { email, password, isConfirmed } = waiting
  const customer = await deps.customers.addCustomer(tx, registeredName)
  const owner = { kind: 'customer', id: customer.id } as const
  await deps.identities.create(tx, owner, { login: email, email, password, isConfirmed })
  const { referrer, outcome } = await findReferrer(deps, tx, waiting)
  const brought = referrer && (await deps.referrals.bring(tx, customer.id, referrer))
  return { owner, ref: brought === 'earlier' ? brought : outcome }
}

async function admit(deps: RegistrationDeps, tx: Tx, waiting: Waiting, isConfirmed: boolean, visitor: Visitor) {
  const { owner, ref } = await enrol(deps, tx, { ...waiting, isConfirmed })
  return { opened: await deps.signIn.open(tx, owner, visitor), ref }
}

const readWaiting = ({ purpose, payload }: OneTimeLink): Waiting | WaitingAddress | undefined =>
  purpose === 'confirm' && payload !== null ? parseWaiting(payload) : undefined

/** The owner whose password a link sets; a new customer is added. */
async function ownerOf(deps: RegistrationDeps, tx: Tx, link: OneTimeLink, password: string): Promise<string> {
  if (link.owner !== null) return link.owner
  const waiting = readWaiting(link)
  if (!waiting) throw invalidLink()
  const known = await deps.identities.findByLogin('customer', waiting.email, tx)
  return (known ?? (await enrol(deps, tx, { email: waiting.email, password, isConfirmed: true }))).owner.id
}

/** Makes a link. If none is due, one that is not sent is written all the same, so that timing reveals no address. */
export const issueLink = (
  deps: RegistrationDeps,
  due: { readonly owner: string | null; readonly purpose: LinkPurpose; readonly payload?: string } | undefined,
) =>
  deps.db.transact(async (tx) =>
    deps.signIn.issueLink(tx, { kind: 'customer', ...(due ?? { owner: null, purpose: 'confirm' }) }),
  )

/** Refuses a link that is not for choosing a password. */
function assertForReset(link: OneTimeLink): OneTimeLink {
  const waiting = readWaiting(link)
  if (link.purpose !== 'reset' && (!waiting || waiting.password !== undefined)) throw invalidLink()
  return link
}

/**
 * Registers a customer: at once if no mail is sent, else by a link to the address. A known address gets a letter,
 * and the answer is the same, so that it reveals no address.
 */
export async function register(deps: RegistrationDeps, request: Waiting, visitor: Visitor): Promise<Registered> {
  if (!deps.isOpen) throw new Refusal('registration_closed')
  const email = toLogin(request.email)
  refuseTogether(
    () => readEmail(email),
    () => deps.identities.assertPassword(request.password, email),
  )
  await limit(deps.forNewcomers, email, visitor)
  const password = await deps.identities.hash(request.password, email, visitor.clientPrefix)
  const known = await deps.identities.findByLogin('customer', email)
  if (!deps.mail) {
    if (known) throw loginTaken()
    return deps.db.transact(async (tx) => admit(deps, tx, { email, password, ref: request.ref }, false, visitor))
  }
  const ref = request.ref === undefined ? null : toOutcome(await deps.referrals.findReferrer(deps.db, request.ref))
  const payload = JSON.stringify({ email, password, ref: request.ref } satisfies Waiting)
  const link = await issueLink(deps, known ? undefined : { owner: null, purpose: 'confirm', payload })
  deps.mail.post(
    known
      ? letterOf('known', email, deps.siteUrl())
      : letterOf('confirm', email, `${deps.siteUrl()}/#confirm=${link.text}`),
  )
  return { opened: undefined, ref }
}

/**
 * Makes a link by which a customer signs in, once. An owner gets the link. Another operator gets it only for a
 * customer who never used the account (`isNewcomer`); else it goes to the customer's e-mail address.
 */
export async function invite(deps: RegistrationDeps, customer: CustomerId, isOwner: boolean) {
  const owner = { kind: 'customer', id: customer } as const
  const { email, text, expiresAt } = await deps.db.transact(async (tx) => {
    const isHandedOut = isOwner || (await deps.signIn.isNewcomer(tx, customer))
    const profile = await deps.identities.profile(owner, tx)
    if (!isHandedOut && (!deps.mail || profile.email === null)) {
      throw new Refusal('link_needs_owner', {}, { needed: 'owner', has: 'support' })
    }
    const due = { kind: 'customer', owner: customer, purpose: 'enter' } as const
    const payload = !isHandedOut ? byLetter : isOwner ? null : forNewcomer
    const link = deps.signIn.issueLink(tx, payload === null ? due : { ...due, payload })
    return { email: isHandedOut ? null : profile.email, ...link }
  })
  const url = `${deps.siteUrl()}/#enter=${text}`
  if (email === null) return { link: url, sentTo: null, expiresAt }
  deps.mail?.post(letterOf('enter', email, url))
  return { link: null, sentTo: email, expiresAt }
}

/** The result that a referral code would have. */
export const lookAtRef = async (deps: RegistrationDeps, ref: string): Promise<RefOutcome> =>
  toOutcome(await deps.referrals.findReferrer(deps.db, ref))

/** Completes a registration by link and password: the address may belong to another person than the password. */
export async function confirm(
  deps: RegistrationDeps,
  given: { readonly link: string; readonly password: string },
  visitor: Visitor,
): Promise<OpenedSession> {
  const tried = await deps.signIn.attempt(`link ${deps.sha256(given.link).toHex()}`, visitor.clientPrefix)
  const found = readWaiting(await deps.signIn.loadLink(given.link))
  if (found?.password === undefined) throw invalidLink()
  await deps.signIn.assertPassword(found, given.password, tried)
  const { opened } = await deps.db.transact(async (tx) => {
    await deps.signIn.useLink(tx, given.link, 'confirm')
    return admit(deps, tx, found, true, visitor)
  })
  await tried.succeeded()
  return opened
}

/** E-mails a link to set a new or a first password. The answer is the same for every address. */
export async function askReset(deps: RegistrationDeps, text: string, visitor: Visitor): Promise<void> {
  if (!deps.mail) throw new Refusal('mail_not_configured')
  const email = readEmail(text)
  await limit(deps.forForgetful, email, visitor)
  const known = await deps.identities.findByLogin('customer', email)
  const payload = JSON.stringify({ email } satisfies WaitingAddress)
  const isNew = !known && deps.isOpen
  const link = await issueLink(
    deps,
    known?.email
      ? { owner: known.owner.id, purpose: 'reset' }
      : isNew
        ? { owner: null, purpose: 'confirm', payload }
        : undefined,
  )
  const url = `${deps.siteUrl()}/#reset=${link.text}`
  if (known?.email) deps.mail.post(letterOf('reset', known.email, url))
  else if (isNew) deps.mail.post(letterOf('first', email, url))
}

/** Sets a password by an e-mailed link. All sessions end. */
export async function reset(
  deps: RegistrationDeps,
  given: { readonly link: string; readonly password: string },
  visitor: Visitor,
): Promise<void> {
  const tried = await deps.signIn.attempt(undefined, visitor.clientPrefix)
  const { purpose } = assertForReset(await deps.signIn.loadLink(given.link))
  const kept = await deps.identities.hash(given.password, '', visitor.clientPrefix)
  await deps.db.transact(async (tx) => {
    const owner = await ownerOf(deps, tx, await deps.signIn.useLink(tx, given.link, purpose), kept)
    await deps.signIn.confirmOwner(tx, owner)
    await deps.identities.replacePassword(tx, owner, { text: given.password, kept })
  })
  await tried.succeeded()
  deps.signIn.forget()
}

/** Erases a customer at the customer's request. */
export async function eraseCustomer(
  deps: RegistrationDeps,
  customer: CustomerId,
  request: { password: string | undefined; giveUpBalance: boolean; clientPrefix: string },
): Promise<void> {
  const owner = { kind: 'customer', id: customer } as const
  const confirmed = await deps.identities.confirm(owner, request.password, request.clientPrefix)
  const { balance } = await deps.ledger.balance(customer)
  const rub = toRoubles(balance)
  // Only an operator erases a customer with a debt.
  if (balance < 0n) throw new Refusal('debt_left', { debt_rub: -rub }, { debt_rub: -rub })
  if (balance > 0n && !request.giveUpBalance) {
    throw new Refusal('balance_left', { balance_rub: rub }, { balance_rub: rub })
  }
  const isConfirmed = (lost: { readonly balance: Kopecks }) =>
    lost.balance === 0n || (lost.balance > 0n && request.giveUpBalance)
  const assertStill = async (tx: Tx) => void (await lockCompared(tx, owner, confirmed))
  await deps.erasing.erase(customer, { by: 'customer', isConfirmed, assertStill })
}
