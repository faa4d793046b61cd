import type { Fleet } from '../domains/fleet/index.ts'
import { offersOf } from '../domains/premium/exits/rules.ts'
import type { NewExit } from '../domains/premium/index.ts'
import { formatAddress, readAddress } from '../kernel/address.ts'
import { readCountry } from '../kernel/country.ts'
import { toSlug } from '../kernel/login.ts'
import { isTemplate, problemOfTemplate } from '../kernel/login-template.ts'
import { type Given, mistyped } from './command.ts'
import { readTextFile } from './typed.ts'

/** The id of a gateway that is named. */
export async function readGateway(fleet: Pick<Fleet, 'findByName'>, name: string | undefined): Promise<string | null> {
  if (name === undefined) return null
  const node = await fleet.findByName(name)
  if (node?.kind !== 'gateway') throw mistyped('--node is the name of a gateway, as "node list" shows it.')
  return node.id
}

/** No country: ISO 3166-1 leaves this code to its users. */
const noCountry = 'ZZ'

/** A supplier's exit whose login is a template: it has no place of its own. */
async function readSupplier(given: Given, template: string): Promise<NewExit> {
  const problem = problemOfTemplate(template)
  if (problem !== undefined) throw mistyped(`--username ${problem}.`)
  if (given.flags['node'] !== undefined)
    throw mistyped('An exit with a template is for every gateway: leave --node out.')
  for (const flag of ['country', 'state', 'city', 'zip', 'asn']) {
    if (given.flags[flag] !== undefined)
      throw mistyped(`--${flag} is what customers ask a template for; say --countries.`)
  }
  const text = given.flags['countries'] ?? ''
  const codes = text.split(',').map((code) => code.trim().toUpperCase())
  if (text !== 'any' && !codes.every((code) => readCountry(code))) {
    throw mistyped('--countries is "any", or two letters each with commas between, like DE,FR.')
  }
  const way = await readWay(given)
  if (way.kind === 'local') throw mistyped('--username is for an upstream proxy.')
  const offers = offersOf(template, text === 'any' ? 'any' : [...new Set(codes)])
  const place = { country: noCountry, state: '', city: '', zip: '', asn: null }
  return { pool: given.words[0] ?? '', ...way, ...place, offers }
}

export async function readExit(given: Given): Promise<NewExit> {
  const { username, countries } = given.flags
  if (username !== undefined && isTemplate(username)) return readSupplier(given, username)
  if (countries !== undefined) throw mistyped('--countries is for a --username with {country} and the like in it.')
  const country = (given.flags['country'] ?? '').toUpperCase()
  if (!/^[A-Z]{2}$/.test(country)) throw mistyped('--country is two letters, like DE.')
  const asn = given.flags['asn']
  const number = asn === undefined ? null : Number(asn)
  if (number !== null && (!/^[1-9]\d{0,9}$/.test(asn ?? '') || number > 4_294_967_295)) {
    throw mistyped('--asn is the number of a network, like 3320.')
  }
  return {
    pool: given.words[0] ?? '',
    ...(await readWay(given)),
    country,
    state: readPlace(given, 'state', 40),
    city: readPlace(given, 'city', 40),
    zip: readPlace(given, 'zip', 12),
    asn: number,
  }
}

/** A place must be writable in a login, or nobody could ask for it. */
function readPlace(given: Given, flag: string, most: number): string {
  const text = given.flags[flag]
  if (text === undefined) return ''
  const slug = toSlug(text)
  if (slug === '' || slug.length > most || text.length > 80) {
    throw mistyped(`--${flag} is a name in Latin letters or digits, at most ${most} of them.`)
  }
  return text
}

async function readWay(given: Given): Promise<Pick<NewExit, 'kind' | 'host' | 'port' | 'credentials'>> {
  const { local, upstream, username } = given.flags
  if ((local === undefined) === (upstream === undefined)) throw mistyped('Give --local or --upstream, and not both.')
  if (local !== undefined) {
    const address = readAddress(local)
    if (!address) throw mistyped('--local is an IP address.')
    if (username !== undefined) throw mistyped('--username is for an upstream proxy.')
    return { kind: 'local', host: formatAddress(address), port: null, credentials: null }
  }
  const match = /^(http|socks5):\/\/(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]{1,253}):(\d{1,5})\/?$/.exec(upstream ?? '')
  const port = Number(match?.[3] ?? 0)
  if (!match || port < 1 || port > 65_535) {
    throw mistyped(
      '--upstream is http://host:port or socks5://host:port; credentials go to --username and --password-file.',
    )
  }
  return {
    kind: match[1] === 'http' ? 'http' : 'socks5',
    host: (match[2] ?? '').replace(/^\[|\]$/g, ''),
    port,
    credentials: username === undefined ? null : { username, password: await readPassword(given) },
  }
}

async function readPassword(given: Given): Promise<string> {
  const path = given.flags['password-file']
  if (path === undefined) throw mistyped('--username wants a --password-file.')
  const [first = ''] = (await readTextFile(path)).split('\n')
  if (!/^[\x21-\x7e]{1,255}$/.test(first)) throw mistyped('A password is 1 to 255 visible characters.')
  return first
}
