import { useSyncExternalStore } from 'react'
import { type ApiCaller, CallRefused, createClient } from './call.ts'
import { type Operations, operations, type Who } from './sign-in.ts'

const linkKinds = ['enter', 'confirm', 'reset'] as const

/** A link to sign in, to confirm an address or to reset a password. */
export type SignInLink = { readonly kind: (typeof linkKinds)[number]; readonly secret: string }

function readLink(hash: string): SignInLink | undefined {
  const found = /^#(\w+)=(\S+)$/.exec(hash)
  const kind = linkKinds.find((each) => each === found?.[1])
  return kind === undefined || found?.[2] === undefined ? undefined : { kind, secret: found[2] }
}

/** The secret is removed from the address bar at once. */
let openedLink = readLink(location.hash)
if (openedLink) history.replaceState(null, '', location.pathname)

/** A link opened in a tab with the console only changes the hash: the page reloads. */
addEventListener('hashchange', () => {
  if (readLink(location.hash)) location.reload()
})

export const findLink = (): SignInLink | undefined => openedLink

/** Forgets the link, once the page that uses it is shown: a link signs in once. */
export function dropLink(): void {
  openedLink = undefined
}

/** Which part of the console this page is: customers have `/`, operators `/operator`. */
export const part: 'customer' | 'operator' = location.pathname.startsWith('/operator') ? 'operator' : 'customer'

/** A session, whose cookie scripts cannot read, or an API token, which is kept until the tab is closed. */
type ConsoleSession =
  | { readonly who: Who; readonly token?: undefined }
  | { readonly token: string; readonly who?: undefined }

/** Why there is no session: none was begun or the user left, or the shop no longer accepts its cookie or token. */
export type SignedOut = 'signed-out' | 'session-ended' | 'token-refused'

/** `unknown` until the shop has checked the cookie. */
type Entered = ConsoleSession | SignedOut | 'unknown'

const keptToken = `turnpike.${part}.token`
/** Marks that there was a session, because scripts cannot read its cookie. */
const markOf = (of: typeof part): string => `turnpike.${of}.session`
const keptMark = markOf(part)
/** The pages of a visitor's purchase open a session, and leave this cookie in place of the mark. */
const isOpenedElsewhere = (): boolean => part === 'customer' && /(^|; )turnpike_entered=1/.test(document.cookie)
const dropEntered = (): void => {
  if (isOpenedElsewhere()) document.cookie = 'turnpike_entered=; Path=/; Max-Age=0'
}
/** The name of this tab, for purchases whose outcome is unknown. */
export const keptTab = 'turnpike.tab'
const watchers = new Set<() => void>()
let current: Entered = restore()

function restore(): Entered {
  // The page of the link asks before it replaces an earlier session.
  if (openedLink) return 'signed-out'
  const token = sessionStorage.getItem(keptToken)
  if (token !== null) return { token }
  return localStorage.getItem(keptMark) === null && !isOpenedElsewhere() ? 'signed-out' : 'unknown'
}

function change(next: Entered): void {
  current = next
  for (const watch of watchers) watch()
}

export function enterWithToken(token: string): void {
  sessionStorage.setItem(keptToken, token)
  change({ token })
}

export function enterAs(who: Who): void {
  sessionStorage.removeItem(keptToken)
  localStorage.setItem(keptMark, '1')
  dropEntered()
  change({ who })
}

/** Notes that the shop has opened a session for the other part of the console in this browser. */
export const expectSession = (of: typeof part): void => localStorage.setItem(markOf(of), '1')

/** Removes the session from this browser, after the user has left or has deleted the account. */
export function forget(why: SignedOut = 'signed-out'): void {
  sessionStorage.removeItem(keptToken)
  localStorage.removeItem(keptMark)
  dropEntered()
  change(why)
}

/** A refusal may arrive after the user has left: only an open session can end. */
function endSession(): void {
  if (typeof current === 'object') forget(current.token === undefined ? 'session-ended' : 'token-refused')
}

const tokenOf = (entered: Entered): string | undefined => (typeof entered === 'object' ? entered.token : undefined)

/** CSRF protection: another site's page cannot send this header, and the shop refuses the cookie without it. */
const headers = (): Record<string, string> => {
  const token = tokenOf(current)
  const shown = token === undefined ? { 'X-Turnpike-Console': '1' } : { Authorization: `Bearer ${token}` }
  // Another tab may have signed another customer in: the shop refuses purchases for that one.
  const who = part === 'customer' && typeof current === 'object' ? current.who : undefined
  return { ...shown, ...(who && { 'X-Turnpike-Customer': who.id }), 'Accept-Language': document.documentElement.lang }
}

export const caller: ApiCaller = { headers, onEnded: endSession }

/** The API for signing in. Its refusals end no session. */
export const auth = createClient<Operations>('/auth/v1', operations, { headers, onEnded: () => {} })

/** The name of this part's operation: customers and operators sign in by different ones. */
export const own = <Name extends string>(name: Name): `${Name}Customer` =>
  `${name}${part === 'operator' ? 'Operator' : 'Customer'}` as `${Name}Customer`

async function findSession(): Promise<Who | undefined> {
  try {
    return await auth.call(own('getSessionOf'))
  } catch (error) {
    if (!(error instanceof CallRefused)) throw error
    return undefined
  }
}

/** Loads the session's user from the shop. */
export async function recognise(): Promise<void> {
  const who = await findSession()
  if (who === undefined) forget('session-ended')
  else enterAs(who)
}

/** The session that a sign-in link would replace in this browser, or null. */
export async function findReplaced(): Promise<ConsoleSession | null> {
  const token = sessionStorage.getItem(keptToken)
  if (token !== null) return { token }
  const isMarked = localStorage.getItem(keptMark) !== null || isOpenedElsewhere()
  const who = isMarked ? await findSession() : undefined
  return who === undefined ? null : { who }
}

/** Continues an earlier session in place of using a link. */
export const stay = (session: ConsoleSession): void => change(session)

export async function leave(): Promise<void> {
  if (tokenOf(current) === undefined) await auth.call(own('signOut'))
  sessionStorage.removeItem(keptTab)
  forget()
}

const listen = (watch: () => void): (() => void) => {
  watchers.add(watch)
  return () => watchers.delete(watch)
}

export const useEntered = (): Entered => useSyncExternalStore(listen, () => current)

export function useSession(): ConsoleSession | undefined {
  const entered = useEntered()
  return typeof entered === 'object' ? entered : undefined
}

/** A name for the signed-in user in this browser's storage: the id, or the public beginning of an API token. */
export function useOwner(): string {
  const session = useSession()
  if (session === undefined) return ''
  return session.token === undefined ? session.who.id : session.token.slice(0, 12)
}

/** The session's user; undefined with an API token. */
export function useWho(): Who | undefined {
  const session = useSession()
  return session && 'who' in session ? session.who : undefined
}
