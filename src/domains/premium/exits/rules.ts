import { formatAddress, readAddress } from '../../../core/address.ts'
import { readCountry } from '../../../core/country.ts'
import type { ExitId } from '../../../core/ids.ts'
import { toSlug } from '../../../core/login.ts'
import { isTemplate, problemOfLoginTemplate, takenBy } from '../../../core/login-template.ts'
import { type FieldProblem, fieldProblem, type ProblemArguments } from '../../../core/messages/problems.ts'
import { malformed, type Refusal, refuseField } from '../../../core/refusal.ts'
import { classify } from '../../../core/reserved.ts'
import type { RunningSince } from '../../../core/stall-monitor.ts'

/** Where traffic of a pool leaves: an address of the shop, or a supplier's proxy. Credentials are kept apart. */
export type Exit = {
  readonly id: ExitId
  readonly pool: string
  readonly kind: 'local' | 'http' | 'socks5'
  readonly host: string
  readonly port: number | null
  readonly country: string
  readonly state: string
  readonly city: string
  readonly zip: string
  readonly asn: number | null
  /** The places that a supplier offers, if its login is a template; the exit's own place is unused then. */
  readonly offers: Offers | null
  /** The gateway that owns it; null: every gateway uses it directly. */
  readonly node: string | null
  readonly drainedAt: number | null
  readonly createdAt: number
  readonly changedAt: number
}

/** Country codes, or any; and the other parts of a place that a customer can choose. */
export type Offers = { readonly countries: 'any' | readonly string[]; readonly parts: readonly LocationPart[] }

const partOf: Readonly<Record<string, LocationPart>> = { state: 'states', city: 'cities', zip: 'zips', asn: 'asns' }

/** What a login template offers in these countries. */
const offersOf = (template: string, countries: Offers['countries']): Offers => ({
  countries,
  parts: [...takenBy(template)].flatMap((name) => partOf[name] ?? []),
})

export const writeOffers = ({ countries, parts }: Offers): string =>
  `${countries === 'any' ? 'any' : countries.join(' ')}|${parts.join(' ')}`

export function readOffers(text: string): Offers {
  const [countries = '', parts = ''] = text.split('|')
  const known = parts.split(' ').filter((part): part is LocationPart => order.some((each) => each === part))
  return { countries: countries === 'any' ? 'any' : countries.split(' '), parts: known }
}

/** Whether one machine has a local exit's address. Every machine has the loopback addresses. */
export function isOfOneMachine({ host }: Pick<Exit, 'host'>): boolean {
  const address = readAddress(host)
  return address !== undefined && classify(address) !== 'loopback'
}

/** A gateway's last report on an exit. */
export type ExitStatusReport = Readonly<Record<'exit' | 'node' | 'reason', string>> & {
  readonly isUp: boolean
  readonly sinceAt: number
  readonly reportedAt: number
}

/** A report on an exit counts for this long, without time in which the shop's process did not run. */
export const reportLastsMs = 30_000

type ExitStatus = 'serving' | 'down' | 'untried' | 'drained'

/**
 * An exit that belongs to a gateway is up if that gateway says so; any other one if at least half of the recent reports
 * do. So one lying gateway of three or more neither opens nor closes the sale of an exit.
 */
export function statusOf(
  exit: Pick<Exit, 'node' | 'drainedAt'>,
  reports: readonly ExitStatusReport[],
  since: RunningSince,
): ExitStatus {
  if (exit.drainedAt !== null) return 'drained'
  const counted = reports.filter((each) => exit.node === null || each.node === exit.node)
  if (counted.length === 0) return 'untried'
  const believed = counted.filter((each) => since(each.reportedAt) <= reportLastsMs)
  const up = believed.filter((each) => each.isUp).length
  return up > 0 && 2 * up >= believed.length ? 'serving' : 'down'
}

/** The places that a customer wants, as slugs. Each list names alternatives; all lists must fit at once. */
export type WantedLocations = Readonly<Record<'countries' | 'states' | 'cities' | 'zips', readonly string[]>> & {
  readonly asns: readonly number[]
}

/** An exit with its place as slugs. */
export type LocatedExit = { readonly exit: Exit; readonly slugs: Readonly<Record<LocationPart, string>> }
export type LocationPart = 'countries' | 'states' | 'cities' | 'zips' | 'asns'

export const locate = (exit: Exit): LocatedExit => ({
  exit,
  slugs: {
    countries: exit.country.toLowerCase(),
    states: toSlug(exit.state),
    cities: toSlug(exit.city),
    zips: toSlug(exit.zip),
    asns: exit.asn === null ? '' : String(exit.asn),
  },
})

const order: readonly LocationPart[] = ['countries', 'states', 'cities', 'zips', 'asns']
const fieldOf = (part: LocationPart): string => (part === 'zips' ? 'zipcodes' : part)
const maxAllowedShown = 50

/**
 * The exits that fit, or the part that cannot be served: each value of each list needs an exit among those that the
 * lists before it leave, so a refusal names the missing city and not its country.
 */
export function narrow(
  exits: readonly LocatedExit[],
  locations: WantedLocations,
): { readonly exits: readonly LocatedExit[] } | { readonly problem: FieldProblem } {
  let left = exits
  for (const part of order) {
    const wanted = locations[part].map(String)
    if (wanted.length === 0) continue
    const missing = wanted.filter((value) => !left.some((each) => serves(each, part, value)))
    if (missing.length > 0) {
      const there = new Set(left.flatMap((each) => namedBy(each, part)))
      return { problem: problemOf(part, missing, there, left === exits) }
    }
    left = left.filter((each) => wanted.some((value) => serves(each, part, value)))
  }
  return { exits: left }
}

function serves({ exit, slugs }: LocatedExit, part: LocationPart, value: string): boolean {
  if (exit.offers === null) return slugs[part] === value
  if (part !== 'countries') return exit.offers.parts.includes(part)
  return exit.offers.countries === 'any' || exit.offers.countries.includes(value.toUpperCase())
}

/** The places of a kind that an exit can name; none for a supplier that offers any. */
function namedBy({ exit, slugs }: LocatedExit, part: LocationPart): string[] {
  if (exit.offers === null) return [slugs[part]]
  if (part !== 'countries' || exit.offers.countries === 'any') return []
  return exit.offers.countries.map((code) => code.toLowerCase())
}

function problemOf(
  part: LocationPart,
  missing: readonly string[],
  there: ReadonlySet<string>,
  isFirst: boolean,
): FieldProblem {
  const toShown = (value: string): string | number =>
    part === 'countries' ? value.toUpperCase() : part === 'asns' ? Number(value) : value
  const allowed = [...there].filter((value) => value !== '').toSorted()
  const names = missing.map(toShown)
  const problem = fieldProblem(fieldOf(part), isFirst ? 'location_not_served' : 'locations_not_served', { names })
  return { ...problem, ...(allowed.length <= maxAllowedShown && { allowed: allowed.map(toShown) }) }
}

type LocationCount = Readonly<Record<'slug' | 'name' | 'country', string>> & { readonly exits: number }

/** The places of one kind with their number of exits, largest first. */
export function countLocations(exits: readonly LocatedExit[], part: LocationPart): LocationCount[] {
  const counts = new Map<string, LocationCount>()
  for (const placed of exits) {
    const { exit } = placed
    for (const slug of namedBy(placed, part)) {
      if (slug === '') continue
      const country = exit.offers === null ? exit.country : slug.toUpperCase()
      const key = `${country} ${slug}`
      const name = exit.offers === null ? nameOf(exit, part) : country
      counts.set(key, { slug, name, country, exits: (counts.get(key)?.exits ?? 0) + 1 })
    }
  }
  return [...counts.values()].toSorted(
    (a, b) => b.exits - a.exits || (a.country + a.slug < b.country + b.slug ? -1 : 1),
  )
}

const nameOf = ({ country, state, city, zip, asn }: Exit, part: LocationPart): string =>
  ({ countries: country, states: state, cities: city, zips: zip, asns: `AS${asn}` })[part]

/** Binds sealed credentials to their exit: in another row they do not open. */
export const contextOf = (id: ExitId): string => `exit ${id}`

/** The operator's input for a new exit. Field names are those of the API and of the command line. */
type ExitInput = { readonly pool: string } & { readonly [Name in ExitField]?: string | undefined }
type ExitField = 'local' | 'upstream' | 'username' | 'password' | 'node' | 'countries' | (typeof locationFields)[number]
const locationFields = ['country', 'state', 'city', 'zip', 'asn'] as const

export type NewExit = Omit<Exit, 'id' | 'node' | 'offers' | 'drainedAt' | 'createdAt' | 'changedAt'> & {
  readonly node?: string | null
  readonly offers?: Offers | null
  readonly credentials: { readonly username: string; readonly password: string } | null
}

const bad = (field: ExitField, ...problem: ProblemArguments): Refusal => refuseField(field, ...problem)

/** ISO 3166-1 leaves this code to its users: no country. */
const noCountry = 'ZZ'
const maxAsn = 4_294_967_295

/** Reads the whole input, or refuses the first wrong field. */
export function readExit(input: ExitInput): NewExit {
  if (input.username !== undefined && isTemplate(input.username)) return readSupplier(input, input.username)
  if (input.countries !== undefined) throw bad('countries', 'only_with_template')
  const country = (input.country ?? '').toUpperCase()
  if (!/^[A-Z]{2}$/.test(country)) throw bad('country', 'country_code')
  const { asn } = input
  if (asn !== undefined && (!/^[1-9]\d{0,9}$/.test(asn) || Number(asn) > maxAsn)) throw bad('asn', 'asn')
  return {
    pool: input.pool,
    ...readWay(input),
    country,
    state: readLocationPart(input, 'state', 40),
    city: readLocationPart(input, 'city', 40),
    zip: readLocationPart(input, 'zip', 12),
    asn: asn === undefined ? null : Number(asn),
  }
}

/** A supplier's exit whose login is a template: it has no place of its own. */
function readSupplier(input: ExitInput, template: string): NewExit {
  const problem = problemOfLoginTemplate(template)
  if (problem) throw malformed([problem])
  if (input.node !== undefined) throw bad('node', 'not_with_template')
  for (const field of locationFields) if (input[field] !== undefined) throw bad(field, 'not_with_template')
  const text = input.countries ?? ''
  const codes = text.split(',').map((code) => code.trim().toUpperCase())
  if (text !== 'any' && !codes.every((code) => readCountry(code))) throw bad('countries', 'country_list')
  const way = readWay(input)
  if (way.kind === 'local') throw bad('username', 'only_with', { other: 'upstream' })
  const offers = offersOf(template, text === 'any' ? 'any' : [...new Set(codes)])
  const nowhere = { country: noCountry, state: '', city: '', zip: '', asn: null }
  return { pool: input.pool, ...way, ...nowhere, offers }
}

/** A place must be writable in a login, so that customers can choose it. */
function readLocationPart(input: ExitInput, field: 'state' | 'city' | 'zip', max: number): string {
  const text = input[field]
  if (text === undefined) return ''
  const slug = toSlug(text)
  if (slug === '' || slug.length > max || text.length > 80) throw bad(field, 'latin_name', { max })
  return text
}

function readWay(input: ExitInput): Pick<NewExit, 'kind' | 'host' | 'port' | 'credentials'> {
  const { local, upstream, username } = input
  if ((local === undefined) === (upstream === undefined)) throw bad('local', 'either', { other: 'upstream' })
  if (local !== undefined) {
    const address = readAddress(local)
    if (!address) throw bad('local', 'address')
    if (username !== undefined) throw bad('username', 'only_with', { other: 'upstream' })
    return { kind: 'local', host: formatAddress(address), port: null, credentials: null }
  }
  const match = /^(http|socks5):\/\/(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]{1,253}):(\d{1,5})\/?$/.exec(upstream ?? '')
  const port = Number(match?.[3] ?? 0)
  if (!match || port < 1 || port > 65_535) throw bad('upstream', 'proxy_url')
  return {
    kind: match[1] === 'http' ? 'http' : 'socks5',
    host: (match[2] ?? '').replace(/^\[|\]$/g, ''),
    port,
    credentials: username === undefined ? null : { username, password: readPassword(input.password) },
  }
}

function readPassword(text: string | undefined): string {
  if (text === undefined) throw bad('password', 'required_with', { other: 'username' })
  if (!/^[\x21-\x7e]{1,255}$/.test(text)) throw bad('password', 'visible', { from: 1, to: 255 })
  return text
}

/** Reads credentials as they were sealed. */
export function readCredentials(text: string): { username: string; password: string } {
  const value: unknown = JSON.parse(text)
  if (typeof value === 'object' && value !== null && 'username' in value && 'password' in value) {
    const { username, password } = value
    if (typeof username === 'string' && typeof password === 'string') return { username, password }
  }
  throw new Error('credentials have no username or no password')
}
