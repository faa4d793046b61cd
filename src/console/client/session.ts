import { useSyncExternalStore } from 'react'
import { CallRefused, createClient, type Standing } from './call.ts'
import { hasLink } from './link.ts'
import { type Operations, operations, type Who } from './sign-in.ts'

/** Which part of the console this page is: customers have `/`, operators `/operator`. */
export const part: 'customer' | 'operator' = location.pathname.startsWith('/operator') ? 'operator' : 'customer'

/**
 * Who is signed in: somebody with a session, whose cookie only the browser knows, or somebody with an API token, which
 * is kept for as long as the tab is open.
 */
export type Session = { readonly who: Who; readonly token?: undefined } | { readonly token: string }

/** `unknown` until the shop has said whether the cookie is good. */
export type Entered = Session | 'nobody' | 'unknown'

const keptToken = `turnpike.${part}.token`
/** That there was a session: the cookie itself cannot be seen from here. */
const markOf = (of: typeof part): string => `turnpike.${of}.session`
const keptMark = markOf(part)
const watchers = new Set<() => void>()
let current: Entered = restore()

function restore(): Entered {
  if (hasLink()) return 'nobody'
  const token = sessionStorage.getItem(keptToken)
  if (token !== null) return { token }
  return localStorage.getItem(keptMark) === null ? 'nobody' : 'unknown'
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
  localStorage.setItem(keptMark, '1')
  change({ who })
}

/** The shop has opened a session for the other part of the console, in this browser. */
export const expectSession = (of: typeof part): void => localStorage.setItem(markOf(of), '1')

function forget(): void {
  sessionStorage.removeItem(keptToken)
  localStorage.removeItem(keptMark)
  change('nobody')
}

const tokenOf = (entered: Entered): string | undefined => (typeof entered === 'object' ? entered.token : undefined)

/** A page that is not ours cannot send this header, so the cookie alone is worth nothing to it. */
const headers = (): Record<string, string> => {
  const token = tokenOf(current)
  const shown = token === undefined ? { 'X-Turnpike-Console': '1' } : { Authorization: `Bearer ${token}` }
  return { ...shown, 'Accept-Language': document.documentElement.lang }
}

export const standing: Standing = { headers, onEnded: forget }

/** Signing in and what belongs to it. A refusal there ends no session. */
export const auth = createClient<Operations>('/auth/v1', operations, { headers, onEnded: () => {} })

/** The operation of this part: both parts sign in alike, each by operations of its own. */
export const own = <Name extends string>(name: Name): `${Name}Customer` =>
  `${name}${part === 'operator' ? 'Operator' : 'Customer'}` as `${Name}Customer`

/** Asks the shop who this is. */
export async function recognise(): Promise<void> {
  try {
    enterAs(await auth.call(own('getSessionOf')))
  } catch (error) {
    if (!(error instanceof CallRefused)) throw error
    forget()
  }
}

export async function leave(): Promise<void> {
  if (tokenOf(current) === undefined) await auth.call(own('signOut'))
  forget()
}

const listen = (watch: () => void): (() => void) => {
  watchers.add(watch)
  return () => watchers.delete(watch)
}

export const useEntered = (): Entered => useSyncExternalStore(listen, () => current)

export function useSession(): Session | undefined {
  const entered = useEntered()
  return typeof entered === 'object' ? entered : undefined
}

/** Who it is, where a session says so. */
export function useWho(): Who | undefined {
  const session = useSession()
  return session && 'who' in session ? session.who : undefined
}
