import type { CustomerId } from '../../core/ids.ts'
import { type Kopecks, toRoubles } from '../../core/money.ts'
import { type SharedTokenBuckets, secondsUntilOne } from '../../core/token-buckets.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Ledger } from '../ledger/index.ts'
import {
  badEmail,
  balanceLeft,
  debtLeft,
  invalidLink,
  linkNeedsOwner,
  loginTaken,
  noMail,
  registrationClosed,
  tooManyAttempts,
} from './errors.ts'
import { letterOf } from './letters.ts'
import type { Mail } from './ports.ts'
import { forNewcomer, isEmail, type LinkPurpose, type OneTimeLink, toLogin, toMailbox } from './rules.ts'
import type { SignIn, SignInDeps } from './service.ts'
import type { Identities } from './service-identity.ts'
import type { Opened, Visitor } from './service-visits.ts'

/**
 * Letters of one kind to one address, and to whatever addresses for one household, in an hour. Whoever asks for all of
 * one kind in another's name leaves him the other, or has him sent what he wants.
 */
const toAddress = { perSecond: 3 / 3600, burst: 3 }
const forHousehold = { perSecond: 10 / 3600, burst: 10 }

/** What waits for its address to be confirmed: the password as it will be kept, and the code of who brought him. */
type Waiting = { readonly email: string; readonly password: string; readonly ref?: string | undefined }
/** What waits behind a link that a password is chosen at. */
type WaitingAddress = Pick<Waiting, 'email'> & { readonly password?: undefined }

/** Knows who brings newcomers. Handed in. */
type Bringing = {
  /** `off` while nothing is given for it; undefined for a code that nobody has. */
  findReferrer(reader: Reader, code: string): Promise<CustomerId | 'off' | undefined>
  bring(tx: Tx, customer: CustomerId, referrer: CustomerId): Promise<'brought' | 'himself' | 'earlier' | 'again'>
}

/**
 * What has become of the code of who brought somebody: it never stops a newcomer. `own` if he brought himself,
 * `earlier` if clocks have it that he was there before.
 */
export type RefOutcome = 'known' | 'unknown' | 'off' | 'own' | 'earlier'

type Admission = { readonly opened: Opened; readonly ref: RefOutcome | null }
/** Without a session the address is to be confirmed first. */
type Registered = Pick<Admission, 'ref'> & { readonly opened: Opened | undefined }

/** `ref` is the code of who brought him, as it was given. */
type RegistrationWish = { readonly email: string; readonly password: string; readonly ref?: string | undefined }

/** A link to sign in with: for the operator to hand on, or sent to the customer's e-mail address. */
type Invitation = { readonly link: string | null; readonly sentTo: string | null; readonly expiresAt: number }

/** Forgets who a customer was, if what goes with him is meant to. Handed in. */
type Erasing = {
  erase(
    customer: CustomerId,
    wish: { readonly by: 'customer'; readonly isConfirmed: (lost: { readonly balance: Kopecks }) => boolean },
  ): Promise<unknown>
}

export type Registration = ReturnType<typeof createRegistration>

/** Customers who come and go by themselves. */
export function createRegistration(
  deps: Omit<SignInDeps, 'customers'> & {
    readonly signIn: SignIn
    readonly identities: Identities
    readonly customers: Customers
    readonly ledger: Pick<Ledger, 'balance'>
    readonly mail: Mail | undefined
    readonly isOpen: boolean
    readonly erasing: Erasing
    readonly referrals: Bringing
    readonly siteUrl: () => string
  },
) {
  const { db, signIn, identities, customers, mail } = deps
  const forNewcomers = deps.buckets('letters to newcomers', toAddress)
  const forForgetful = deps.buckets('letters', toAddress)
  const households = deps.buckets('registration', forHousehold)

  function readEmail(text: string): string {
    const email = toLogin(text)
    if (!isEmail(email)) throw badEmail()
    return email
  }

  async function limit(addresses: SharedTokenBuckets, email: string, { household }: Visitor): Promise<void> {
    const ofHousehold = await households.take(household, 1)
    if (ofHousehold.taken === 0) throw tooManyAttempts(secondsUntilOne(forHousehold, ofHousehold.level))
    const ofAddress = await addresses.take(email, 1)
    if (ofAddress.taken === 0) throw tooManyAttempts(secondsUntilOne(toAddress, ofAddress.level))
  }

  const toOutcome = (found: CustomerId | 'off' | undefined): RefOutcome =>
    found === undefined ? 'unknown' : found === 'off' ? 'off' : 'known'

  /** Whether somebody's letters go where the letters of whoever brought him go. */
  async function isSamePerson(reader: Reader, email: string, referrer: CustomerId): Promise<boolean> {
    const known = await identities.profile({ kind: 'customer', id: referrer }, reader)
    return [known.login, known.email].some((each) => each !== null && toMailbox(each) === toMailbox(email))
  }

  /** Who brings somebody with this address, and what is said of the code. */
  async function findReferrer(reader: Reader, { email, ref }: Pick<Waiting, 'email' | 'ref'>) {
    if (ref === undefined) return { referrer: undefined, outcome: null }
    const found = await deps.referrals.findReferrer(reader, ref)
    const outcome = toOutcome(found)
    if (found === undefined || found === 'off') return { referrer: undefined, outcome }
    return (await isSamePerson(reader, email, found))
      ? { referrer: undefined, outcome: 'own' as const }
      : { referrer: found, outcome }
  }

  async function enrol(tx: Tx, waiting: Waiting) {
    const { email, password } = waiting
    // Under a name that says nothing: what he is called here outlives him in the history.
    const customer = await customers.addCustomer(tx, 'registered')
    const owner = { kind: 'customer', id: customer.id } as const
    await identities.create(tx, owner, { login: email, email, password })
    const { referrer, outcome } = await findReferrer(tx, waiting)
    const brought = referrer && (await deps.referrals.bring(tx, customer.id, referrer))
    return { owner, ref: brought === 'earlier' ? brought : outcome }
  }

  async function admit(tx: Tx, waiting: Waiting, visitor: Visitor): Promise<Admission> {
    const { owner, ref } = await enrol(tx, waiting)
    return { opened: await signIn.open(tx, owner, visitor), ref }
  }

  /** Where no letter is answered yet, what is known of the address waits behind the link. */
  const readWaiting = ({ purpose, payload }: OneTimeLink): Waiting | WaitingAddress | undefined =>
    purpose === 'confirm' && payload !== null ? (JSON.parse(payload) as Waiting | WaitingAddress) : undefined

  /** Whose password a link is to set: somebody's, or that of whoever comes with it. */
  async function ownerOf(tx: Tx, link: OneTimeLink, password: string): Promise<string> {
    if (link.owner !== null) return link.owner
    const waiting = readWaiting(link)
    if (!waiting) throw invalidLink()
    const known = await identities.findByLogin('customer', waiting.email, tx)
    return (known ?? (await enrol(tx, { email: waiting.email, password }))).owner.id
  }

  /**
   * A link for whoever has an address. Where none is due one is written all the same, which nobody gets: who asks for
   * an address learns nothing from how long the answer takes.
   */
  const issueLink = (
    due: { readonly owner: string | null; readonly purpose: LinkPurpose; readonly payload?: string } | undefined,
  ) =>
    db.transact(async (tx) =>
      signIn.issueLink(tx, { kind: 'customer', ...(due ?? { owner: null, purpose: 'confirm' }) }),
    )

  /** One that was sent to have a password chosen, by somebody who is known or for an address that is not. */
  function assertForReset(link: OneTimeLink): OneTimeLink {
    const waiting = readWaiting(link)
    if (link.purpose !== 'reset' && (!waiting || waiting.password !== undefined)) throw invalidLink()
    return link
  }

  return {
    /** What a page may offer to somebody who has not signed in. */
    offers: { registration: deps.isOpen, mail: mail !== undefined },

    /**
     * Takes a new customer in: at once where no mail is sent, else by a link to his address. Whoever has an address is
     * told so by a letter, and nobody else learns it, nor whose address a code's owner has.
     */
    async register(wish: RegistrationWish, visitor: Visitor): Promise<Registered> {
      if (!deps.isOpen) throw registrationClosed()
      const email = readEmail(wish.email)
      identities.assertPassword(wish.password, email)
      await limit(forNewcomers, email, visitor)
      const password = await identities.hash(wish.password, email, visitor.household)
      const known = await identities.findByLogin('customer', email)
      if (!mail) {
        if (known) throw loginTaken()
        return db.transact(async (tx) => admit(tx, { email, password, ref: wish.ref }, visitor))
      }
      const ref = wish.ref === undefined ? null : toOutcome(await deps.referrals.findReferrer(db, wish.ref))
      const payload = JSON.stringify({ email, password, ref: wish.ref } satisfies Waiting)
      const link = await issueLink(known ? undefined : { owner: null, purpose: 'confirm', payload })
      mail.post(
        known
          ? letterOf('known', email, deps.siteUrl())
          : letterOf('confirm', email, `${deps.siteUrl()}/#confirm=${link.text}`),
      )
      return { opened: undefined, ref }
    },

    /**
     * Makes a link by which a customer signs in, once. An owner gets the link. Another operator gets it only for a
     * customer who never used the account (`isNewcomer`); else it goes to the customer's e-mail address.
     */
    async invite(customer: CustomerId, isOwner: boolean): Promise<Invitation> {
      const owner = { kind: 'customer', id: customer } as const
      const { email, text, expiresAt } = await db.transact(async (tx) => {
        const isHandedOut = isOwner || (await signIn.isNewcomer(tx, customer))
        const profile = await identities.profile(owner, tx)
        if (!isHandedOut && (!mail || profile.email === null)) throw linkNeedsOwner()
        const wish = { kind: 'customer', owner: customer, purpose: 'enter' } as const
        const link = signIn.issueLink(tx, isHandedOut && !isOwner ? { ...wish, payload: forNewcomer } : wish)
        return { email: isHandedOut ? null : profile.email, ...link }
      })
      const url = `${deps.siteUrl()}/#enter=${text}`
      if (email === null) return { link: url, sentTo: null, expiresAt }
      mail?.post(letterOf('enter', email, url))
      return { link: null, sentTo: email, expiresAt }
    },

    /** What would become of a code. */
    lookAtRef: async (ref: string): Promise<RefOutcome> => toOutcome(await deps.referrals.findReferrer(db, ref)),

    /**
     * Takes in whoever has both the letter and the password that was chosen for it. Each alone opens nothing: the
     * address may be another's than the password, who would find a stranger in his account.
     */
    async confirm(given: { readonly link: string; readonly password: string }, visitor: Visitor): Promise<Opened> {
      const tried = await signIn.attempt(`link ${deps.sha256(given.link).toHex()}`, visitor.household)
      const found = readWaiting(await signIn.findLink(given.link))
      if (found?.password === undefined) throw invalidLink()
      const waiting = await signIn.assertPassword(found, given.password, tried)
      const { opened } = await db.transact(async (tx) => {
        await signIn.useLink(tx, given.link, 'confirm')
        return admit(tx, waiting, visitor)
      })
      await tried.succeeded()
      return opened
    },

    /**
     * Sends a link to whoever has this address: to set a new password or, if nobody signs in with it yet, his first.
     * The answer is the same.
     */
    async askReset(text: string, visitor: Visitor): Promise<void> {
      if (!mail) throw noMail()
      const email = readEmail(text)
      await limit(forForgetful, email, visitor)
      const known = await identities.findByLogin('customer', email)
      const payload = JSON.stringify({ email } satisfies WaitingAddress)
      const isNew = !known && deps.isOpen
      const link = await issueLink(
        known?.email
          ? { owner: known.owner.id, purpose: 'reset' }
          : isNew
            ? { owner: null, purpose: 'confirm', payload }
            : undefined,
      )
      const url = `${deps.siteUrl()}/#reset=${link.text}`
      if (known?.email) mail.post(letterOf('reset', known.email, url))
      else if (isNew) mail.post(letterOf('first', email, url))
    },

    /** Sets a password for whoever came by a letter that he asked for. All sessions end; no other password holds. */
    async reset(given: { readonly link: string; readonly password: string }, visitor: Visitor): Promise<void> {
      const tried = await signIn.attempt(undefined, visitor.household)
      const { purpose } = assertForReset(await signIn.findLink(given.link))
      const kept = await identities.hash(given.password, '', visitor.household)
      await db.transact(async (tx) => {
        const owner = await ownerOf(tx, await signIn.useLink(tx, given.link, purpose), kept)
        await identities.replacePassword(tx, owner, { text: given.password, kept })
      })
      await tried.succeeded()
      signIn.forget()
    },

    /**
     * A customer who goes: who he is, what he called his things and where he came from is forgotten, and all that he
     * has stops. What moved his money stays in the books, under his number.
     */
    async leave(
      customer: CustomerId,
      wish: { password: string | undefined; giveUpBalance: boolean; household: string },
    ): Promise<void> {
      const owner = { kind: 'customer', id: customer } as const
      await identities.confirm(owner, wish.password, wish.household)
      const { balance } = await deps.ledger.balance(customer)
      // A debt is not left behind with a name; an operator can let it go.
      if (balance < 0n) throw debtLeft(-toRoubles(balance))
      if (balance > 0n && !wish.giveUpBalance) throw balanceLeft(toRoubles(balance))
      const isConfirmed = (lost: { readonly balance: Kopecks }) =>
        lost.balance === 0n || (lost.balance > 0n && wish.giveUpBalance)
      await deps.erasing.erase(customer, { by: 'customer', isConfirmed })
    },
  }
}
