import { useSyncExternalStore } from 'react'
import type { Standing } from './call.ts'

/**
 * Who is signed in. A token is kept for as long as the tab is open, and nowhere else: it is not in a cookie, so no other
 * page can use it.
 */
export type Session = { readonly part: 'customer' | 'operator'; readonly token: string }

const kept = 'turnpike.token'
const watchers = new Set<() => void>()
let current = restore()

function restore(): Session | undefined {
  const token = sessionStorage.getItem(kept)
  return token === null ? undefined : toSession(token)
}

/** Operators' tokens say what they are. */
const toSession = (token: string): Session => ({ part: token.startsWith('tpo_') ? 'operator' : 'customer', token })

function change(next: Session | undefined): void {
  current = next
  for (const watch of watchers) watch()
}

export function enter(token: string): void {
  sessionStorage.setItem(kept, token)
  change(toSession(token))
}

export function leave(): void {
  sessionStorage.removeItem(kept)
  change(undefined)
}

const listen = (watch: () => void): (() => void) => {
  watchers.add(watch)
  return () => watchers.delete(watch)
}

export const useSession = (): Session | undefined => useSyncExternalStore(listen, () => current)

export const standing: Standing = {
  headers: () => (current === undefined ? {} : { Authorization: `Bearer ${current.token}` }),
  onEnded: leave,
}
