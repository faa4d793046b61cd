/** User name of a premium proxy (docs/login-grammar.md). An empty list asks for nothing; a session pins the exit. */
export type ProxyLogin = {
  readonly login: string
  readonly pool: string | null
  readonly countries: readonly string[]
  readonly states: readonly string[]
  readonly cities: readonly string[]
  readonly zips: readonly string[]
  readonly asns: readonly number[]
  readonly session: { readonly name: string; readonly ttlMinutes: number | null } | null
}

/** RFC 1929 gives a user name one byte for its length, so a longer one could not be used with SOCKS5. */
export const maxLoginLength = 255

export const maxSessionMinutes = 120

/** No pattern allows a character that the grammar or an address uses as a separator. */
const loginPattern = /^[a-z][a-z0-9_]{2,31}$/
const poolPattern = /^[a-z][a-z0-9_]{0,30}$/
const countryPattern = /^[a-z]{2}$/
const locationPattern = /^[a-z0-9]{1,40}$/
const zipPattern = /^[a-z0-9]{1,12}$/
const asnPattern = /^[1-9]\d{0,9}$/
const sessionPattern = /^[a-z0-9]{1,32}$/
const ttlPattern = /^[1-9]\d{0,2}$/
const maxAsn = 4_294_967_295

/** The parts in the order they are written in. Each may be given once, in any order. */
const keys = ['pool', 'country', 'state', 'city', 'zip', 'asn', 'session', 'ttl'] as const
type Key = (typeof keys)[number]

/** The part that is wrong. `part`: an unknown name, a part without a value, or a character that no part may have. */
export type WrongPart = Key | 'part'

/** Parses a user name in any case. Undefined for anything outside the grammar: a guess would bill the wrong exit. */
export function readProxyLogin(text: string): ProxyLogin | undefined {
  const parsed = parseProxyLogin(text)
  return typeof parsed === 'string' ? undefined : parsed
}

/** The same, with the first wrong part of a malformed login. */
export function parseProxyLogin(text: string): ProxyLogin | WrongPart {
  if (text.length === 0 || text.length > maxLoginLength || !/^[A-Za-z0-9_.-]+$/.test(text)) return 'part'
  const [login = '', ...parts] = text.toLowerCase().split('-')
  if (!loginPattern.test(login) || parts.length % 2 !== 0) return 'part'
  const given = new Map<Key, string>()
  for (let index = 0; index < parts.length; index += 2) {
    const key = keys.find((each) => each === parts[index])
    if (key === undefined) return 'part'
    if (given.has(key)) return key
    given.set(key, parts[index + 1] ?? '')
  }
  const pool = given.get('pool') ?? null
  if (pool !== null && !poolPattern.test(pool)) return 'pool'
  const countries = readList(given.get('country'), countryPattern)
  if (!countries) return 'country'
  const states = readList(given.get('state'), locationPattern)
  if (!states) return 'state'
  const cities = readList(given.get('city'), locationPattern)
  if (!cities) return 'city'
  const zips = readList(given.get('zip'), zipPattern)
  if (!zips) return 'zip'
  const asns = readList(given.get('asn'), asnPattern)?.map(Number)
  if (!asns || asns.some((asn) => asn > maxAsn)) return 'asn'
  const session = readSession(given.get('session'), given.get('ttl'))
  if (typeof session === 'string') return session
  return { login, pool, countries, states, cities, zips, asns, session }
}

/** Inverse of readProxyLogin(). The text may exceed `maxLoginLength`. */
export function writeProxyLogin(of: ProxyLogin): string {
  const parts = [of.login]
  const add = (key: Key, values: readonly (string | number)[]): void => {
    if (values.length > 0) parts.push(key, values.join('.'))
  }
  add('pool', of.pool === null ? [] : [of.pool])
  add('country', of.countries)
  add('state', of.states)
  add('city', of.cities)
  add('zip', of.zips)
  add('asn', of.asns)
  if (of.session) {
    add('session', [of.session.name])
    add('ttl', of.session.ttlMinutes === null ? [] : [of.session.ttlMinutes])
  }
  return parts.join('-')
}

function readList(text: string | undefined, pattern: RegExp): string[] | undefined {
  if (text === undefined) return []
  const values = text.split('.')
  return values.every((value) => pattern.test(value)) && new Set(values).size === values.length ? values : undefined
}

/** Null without a session. A time without a session is wrong. */
function readSession(name: string | undefined, ttl: string | undefined): ProxyLogin['session'] | 'session' | 'ttl' {
  if (name === undefined) return ttl === undefined ? null : 'ttl'
  if (!sessionPattern.test(name)) return 'session'
  if (ttl === undefined) return { name, ttlMinutes: null }
  if (!ttlPattern.test(ttl) || Number(ttl) > maxSessionMinutes) return 'ttl'
  return { name, ttlMinutes: Number(ttl) }
}

const unlike: Readonly<Record<string, string>> = { ß: 'ss', ø: 'o', ł: 'l', æ: 'ae', œ: 'oe', đ: 'd', ı: 'i' }

/** The slug of a place's name: `New York` is `newyork`, `Île-de-France` is `iledefrance`. */
export function toSlug(name: string): string {
  const plain = name.toLowerCase().replace(/[ßøłæœđı]/g, (letter) => unlike[letter] ?? '')
  return plain.normalize('NFKD').replace(/[^a-z0-9]/g, '')
}
