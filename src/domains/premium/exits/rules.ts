import type { ExitId } from '../../../core/ids.ts'
import { toSlug } from '../../../core/login.ts'
import { takenBy } from '../../../core/login-template.ts'
import type { FieldProblem } from '../../../core/refusal.ts'
import { type RunningSince } from '../../../core/stall-monitor.ts'

/** Where traffic of a pool leaves: from an address of ours, or through somebody's proxy. Credentials are kept apart. */
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
  /** What a supplier's exit offers, if its login is a template; its own place means nothing then. */
  readonly offers: Offers | null
  /** The gateway that it belongs to; none: every gateway leaves through it itself. */
  readonly node: string | null
  readonly drainedAt: number | null
  readonly createdAt: number
  readonly changedAt: number
}

/** Countries by their codes, or any; and the other parts of a place that can be asked for. */
export type Offers = { readonly countries: 'any' | readonly string[]; readonly parts: readonly Part[] }

const partOf: Readonly<Record<string, Part>> = { state: 'states', city: 'cities', zip: 'zips', asn: 'asns' }

/** What a template can be asked for, in these countries. */
export const offersOf = (template: string, countries: Offers['countries']): Offers => ({
  countries,
  parts: [...takenBy(template)].flatMap((name) => partOf[name] ?? []),
})

export const writeOffers = ({ countries, parts }: Offers): string =>
  `${countries === 'any' ? 'any' : countries.join(' ')}|${parts.join(' ')}`

export function readOffers(text: string): Offers {
  const [countries = '', parts = ''] = text.split('|')
  const known = parts.split(' ').filter((part): part is Part => order.some((each) => each === part))
  return { countries: countries === 'any' ? 'any' : countries.split(' '), parts: known }
}

/** What a gateway last said of an exit. */
export type ExitWord = {
  readonly exit: string
  readonly node: string
  readonly isUp: boolean
  readonly sinceAt: number
  readonly reason: string
  readonly saidAt: number
}

/** What a gateway said of an exit holds for this long, without time in which the shop's own process did not run. */
export const wordLastsMs = 30_000

export type ExitStanding = 'serving' | 'down' | 'untried' | 'drained'

/**
 * How an exit is, by what gateways last said of it. An exit that belongs to a gateway is up if that gateway says so;
 * any other one if at least half of the gateways do that spoke lately. So one gateway of three or more that lies
 * neither opens the sale of an exit nor closes it.
 */
export function standingOf(
  exit: Pick<Exit, 'node' | 'drainedAt'>,
  words: readonly ExitWord[],
  since: RunningSince,
): ExitStanding {
  if (exit.drainedAt !== null) return 'drained'
  const counted = words.filter((word) => exit.node === null || word.node === exit.node)
  if (counted.length === 0) return 'untried'
  const believed = counted.filter((word) => since(word.saidAt) <= wordLastsMs)
  const up = believed.filter((word) => word.isUp).length
  return up > 0 && 2 * up >= believed.length ? 'serving' : 'down'
}

/** What is asked of an exit's place. Each list names alternatives; all lists must fit at once. Slugs, as in a login. */
export type Places = {
  readonly countries: readonly string[]
  readonly states: readonly string[]
  readonly cities: readonly string[]
  readonly zips: readonly string[]
  readonly asns: readonly number[]
}

/** An exit with its place as slugs, made once for many questions. */
export type Placed = { readonly exit: Exit; readonly slugs: Readonly<Record<Part, string>> }
export type Part = 'countries' | 'states' | 'cities' | 'zips' | 'asns'

export const place = (exit: Exit): Placed => ({
  exit,
  slugs: {
    countries: exit.country.toLowerCase(),
    states: toSlug(exit.state),
    cities: toSlug(exit.city),
    zips: toSlug(exit.zip),
    asns: exit.asn === null ? '' : String(exit.asn),
  },
})

const order: readonly Part[] = ['countries', 'states', 'cities', 'zips', 'asns']
const fieldOf: Readonly<Record<Part, string>> = {
  countries: 'countries',
  states: 'states',
  cities: 'cities',
  zips: 'zipcodes',
  asns: 'asns',
}
const mostAllowedShown = 50

/**
 * The exits that fit, or which part cannot be served: each value of each list must have an exit among those that the
 * lists before it leave, so a customer is told that it is the city and not the country that is not there.
 */
export function narrow(
  exits: readonly Placed[],
  places: Places,
): { readonly exits: readonly Placed[] } | { readonly problem: FieldProblem } {
  let left = exits
  for (const part of order) {
    const wanted = places[part].map(String)
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

function serves({ exit, slugs }: Placed, part: Part, value: string): boolean {
  if (exit.offers === null) return slugs[part] === value
  if (part !== 'countries') return exit.offers.parts.includes(part)
  return exit.offers.countries === 'any' || exit.offers.countries.includes(value.toUpperCase())
}

/** The places of a kind that an exit can name; of a supplier that has any, none. */
function namedBy({ exit, slugs }: Placed, part: Part): string[] {
  if (exit.offers === null) return [slugs[part]]
  if (part !== 'countries' || exit.offers.countries === 'any') return []
  return exit.offers.countries.map((code) => code.toLowerCase())
}

function problemOf(part: Part, missing: readonly string[], there: ReadonlySet<string>, isFirst: boolean): FieldProblem {
  const toShown = (value: string): string | number =>
    part === 'countries' ? value.toUpperCase() : part === 'asns' ? Number(value) : value
  const allowed = [...there].filter((value) => value !== '').toSorted()
  const names = missing.map(toShown).join(', ')
  const problem = `${names} cannot be served ${isFirst ? 'by this pool' : 'together with the other places'}`
  return {
    field: fieldOf[part],
    problem,
    ...(allowed.length <= mostAllowedShown && { allowed: allowed.map(toShown) }),
  }
}

/** One place and how many exits are there. */
export type PlaceCount = {
  readonly slug: string
  readonly name: string
  readonly country: string
  readonly exits: number
}

/** The places of one kind among exits, each with its exits counted, the most common first. */
export function countPlaces(exits: readonly Placed[], part: Part): PlaceCount[] {
  const counts = new Map<string, PlaceCount>()
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

function nameOf(exit: Exit, part: Part): string {
  if (part === 'countries') return exit.country
  if (part === 'states') return exit.state
  if (part === 'cities') return exit.city
  if (part === 'zips') return exit.zip
  return `AS${exit.asn}`
}

/** What binds sealed credentials to their exit: in another row they do not open. */
export const contextOf = (id: ExitId): string => `exit ${id}`
