import { type Address, clientPrefixOf, formatAddress } from '../core/address.ts'
import { Refusal } from '../core/refusal.ts'
import type { Visitor } from '../domains/signin/index.ts'
import type { OwnerKind } from '../domains/signin/rules.ts'
import { findToken } from './answers.ts'

/** A header of every session request: a page of another origin cannot send it without a CORS preflight. */
const consoleHeader = 'X-Turnpike-Console'

/** Behind TLS a cookie that only this host can set, and only over TLS; else the same without that promise. */
const cookieName = (kind: OwnerKind, isSecure: boolean): string => `${isSecure ? '__Host-' : ''}turnpike_${kind}`

/** A cookie for the browser alone: no script reads it and no other site sends it. An empty one takes it back. */
export function toCookie(kind: OwnerKind, secret: string, forMs: number, publicUrl: string): string {
  const isSecure = isTls(publicUrl)
  const parts = [
    `${cookieName(kind, isSecure)}=${secret}`,
    'Path=/',
    'HttpOnly',
    'SameSite=Strict',
    `Max-Age=${Math.max(0, Math.floor(forMs / 1000))}`,
    ...(isSecure ? ['Secure'] : []),
  ]
  return parts.join('; ')
}

/** Tells the console that a page outside of it has opened a session: scripts cannot read the session's own cookie. */
export const toEnteredCookie = (publicUrl: string): string =>
  `turnpike_entered=1; Path=/; SameSite=Strict; Max-Age=86400${isTls(publicUrl) ? '; Secure' : ''}`

/** The secret in a session cookie. Pages of another origin are refused, also by browsers without SameSite=Strict. */
export function readSessionText(request: Request, kind: OwnerKind, publicUrl: string): string | undefined {
  const secret = findCookie(request, cookieName(kind, isTls(publicUrl)))
  if (secret === undefined) return undefined
  if (request.headers.get(consoleHeader) === null)
    throw new Refusal('session_header_missing', { header: consoleHeader }, { charged: false })
  assertSameOrigin(request, publicUrl)
  return secret
}

/** Refuses what a page of another origin has sent. A program sends no Origin. */
export function assertSameOrigin(request: Request, publicUrl: string): void {
  const site = request.headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin' && site !== 'none')
    throw new Refusal('request_from_other_site', {}, { charged: false })
  // The browser vouches for it, also where it sends `Origin: null`.
  if (site === 'same-origin') return
  const origin = request.headers.get('origin')
  if (origin === null) return
  const host = URL.parse(origin)?.host
  const own = [URL.parse(publicUrl)?.host, URL.parse(request.url)?.host]
  if (host === undefined || !own.includes(host)) throw new Refusal('request_from_other_origin', {}, { charged: false })
}

export const isTls = (publicUrl: string): boolean => publicUrl.startsWith('https:')

const maxCookieBytes = 8192

export function findCookie({ headers }: Pick<Request, 'headers'>, name: string): string | undefined {
  const text = headers.get('cookie') ?? ''
  if (text.length > maxCookieBytes) return undefined
  for (const part of text.split(';')) {
    const [key, value] = part.trim().split('=', 2)
    if (key === name) return value
  }
  return undefined
}

/** The session cookie of a browser, for pages that change nothing. */
export const findSessionText = (
  request: Pick<Request, 'headers'>,
  kind: OwnerKind,
  publicUrl: string,
): string | undefined => findCookie(request, cookieName(kind, isTls(publicUrl))) || undefined

const cookieNames = (['customer', 'operator'] as const).flatMap((kind) => [
  cookieName(kind, true),
  cookieName(kind, false),
])

/** The credential of a request: its token, or else the session cookie of one kind. */
export function findShown(request: Request, kind: OwnerKind, publicUrl: string): string | undefined {
  return findToken(request) ?? findSessionText(request, kind, publicUrl)
}

/** The secret of a session in the cookie that opens it; none in one that takes it back. */
export const secretIn = (cookie: string): string | undefined => /^[^=;]+=([^;]+)/.exec(cookie)?.[1]

/** Address, rate-limit key and browser of a request, as a session stores them. */
export const visitorOf = (request: Request, from: Address | undefined): Visitor => ({
  source: from ? formatAddress(from) : null,
  clientPrefix: from ? clientPrefixOf(from) : '',
  agent: request.headers.get('user-agent'),
  shown: cookieNames.flatMap((name) => findCookie(request, name) || []),
})
