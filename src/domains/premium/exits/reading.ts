import { formatAddress, readAddress } from '../../../core/address.ts'
import { readCountry } from '../../../core/country.ts'
import { toSlug } from '../../../core/login.ts'
import { isTemplate, problemOfTemplate } from '../../../core/login-template.ts'
import { malformed, type Refusal } from '../../../core/refusal.ts'
import { type Exit, type Offers, offersOf } from './rules.ts'

/** An exit as somebody wishes it, in words. The names of the fields are those of the API and of the tool's options. */
export type ExitWish = {
  readonly pool: string
  readonly local?: string | undefined
  readonly upstream?: string | undefined
  readonly username?: string | undefined
  readonly password?: string | undefined
  readonly node?: string | undefined
  readonly countries?: string | undefined
  readonly country?: string | undefined
  readonly state?: string | undefined
  readonly city?: string | undefined
  readonly zip?: string | undefined
  readonly asn?: string | undefined
}

/** An exit that is to be added. */
export type NewExit = Omit<Exit, 'id' | 'node' | 'offers' | 'drainedAt' | 'createdAt' | 'changedAt'> & {
  readonly node?: string | null
  readonly offers?: Offers | null
  readonly credentials: { readonly username: string; readonly password: string } | null
}

const bad = (field: keyof ExitWish, problem: string): Refusal => malformed([{ field, problem }])

/** No country: ISO 3166-1 leaves this code to its users. */
const noCountry = 'ZZ'
const largestAsn = 4_294_967_295

/** Reads a wish whole, or refuses the first field that is wrong. */
export function readExitWish(wish: ExitWish): NewExit {
  if (wish.username !== undefined && isTemplate(wish.username)) return readSupplier(wish, wish.username)
  if (wish.countries !== undefined) throw bad('countries', 'is for a username with {country} and the like in it')
  const country = (wish.country ?? '').toUpperCase()
  if (!/^[A-Z]{2}$/.test(country)) throw bad('country', 'must be two letters, like DE')
  const asn = wish.asn === undefined ? null : Number(wish.asn)
  if (asn !== null && (!/^[1-9]\d{0,9}$/.test(wish.asn ?? '') || asn > largestAsn)) {
    throw bad('asn', 'must be the number of a network, like 3320')
  }
  return {
    pool: wish.pool,
    ...readWay(wish),
    country,
    state: readPlace(wish, 'state', 40),
    city: readPlace(wish, 'city', 40),
    zip: readPlace(wish, 'zip', 12),
    asn,
  }
}

/** A supplier's exit whose login is a template: it has no place of its own. */
function readSupplier(wish: ExitWish, template: string): NewExit {
  const problem = problemOfTemplate(template)
  if (problem !== undefined) throw bad('username', problem)
  if (wish.node !== undefined) throw bad('node', 'must be left out: an exit with a template is for every gateway')
  for (const field of ['country', 'state', 'city', 'zip', 'asn'] as const) {
    if (wish[field] !== undefined) throw bad(field, 'is what customers ask a template for; say countries')
  }
  const text = wish.countries ?? ''
  const codes = text.split(',').map((code) => code.trim().toUpperCase())
  if (text !== 'any' && !codes.every((code) => readCountry(code))) {
    throw bad('countries', 'must be "any", or two letters each with commas between, like DE,FR')
  }
  const way = readWay(wish)
  if (way.kind === 'local') throw bad('username', 'is for an upstream proxy')
  const offers = offersOf(template, text === 'any' ? 'any' : [...new Set(codes)])
  const place = { country: noCountry, state: '', city: '', zip: '', asn: null }
  return { pool: wish.pool, ...way, ...place, offers }
}

/** A place must be writable in a login, or nobody could ask for it. */
function readPlace(wish: ExitWish, field: 'state' | 'city' | 'zip', most: number): string {
  const text = wish[field]
  if (text === undefined) return ''
  const slug = toSlug(text)
  if (slug === '' || slug.length > most || text.length > 80) {
    throw bad(field, `must be a name in Latin letters or digits, at most ${most} of them`)
  }
  return text
}

function readWay(wish: ExitWish): Pick<NewExit, 'kind' | 'host' | 'port' | 'credentials'> {
  const { local, upstream, username } = wish
  if ((local === undefined) === (upstream === undefined)) {
    throw bad('local', 'must be given, or upstream, and not both')
  }
  if (local !== undefined) {
    const address = readAddress(local)
    if (!address) throw bad('local', 'must be an IP address')
    if (username !== undefined) throw bad('username', 'is for an upstream proxy')
    return { kind: 'local', host: formatAddress(address), port: null, credentials: null }
  }
  const match = /^(http|socks5):\/\/(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]{1,253}):(\d{1,5})\/?$/.exec(upstream ?? '')
  const port = Number(match?.[3] ?? 0)
  if (!match || port < 1 || port > 65_535) {
    throw bad('upstream', 'must be http://host:port or socks5://host:port, with credentials apart')
  }
  return {
    kind: match[1] === 'http' ? 'http' : 'socks5',
    host: (match[2] ?? '').replace(/^\[|\]$/g, ''),
    port,
    credentials: username === undefined ? null : { username, password: readPassword(wish.password) },
  }
}

function readPassword(text: string | undefined): string {
  if (text === undefined) throw bad('password', 'is required with a username')
  if (!/^[\x21-\x7e]{1,255}$/.test(text)) throw bad('password', 'must be 1 to 255 visible characters')
  return text
}
