import type { ProxyLogin } from '../../../core/login.ts'
import { fillTemplate, isTemplate, type TemplateValues, takenBy } from '../../../core/login-template.ts'
import type { NodeExit } from '../../../node-protocol/state.ts'

const anyCountry = 'any'
const usualMinutes = '10'
/** Enough that sessions of two customers never meet. */
const sessionLength = 20

/** What a login asks of a supplier's exit, or undefined when the exit does not offer it. */
function readAsked(exit: NodeExit, login: ProxyLogin): TemplateValues | undefined {
  const offers = exit.offers ?? []
  const taken = takenBy(exit.credentials?.username ?? '')
  const country = offers.includes(anyCountry)
    ? login.countries[0]
    : login.countries.find((each) => offers.includes(each))
  const asked = {
    country: { wish: login.countries, value: country },
    state: { wish: login.states, value: login.states[0] },
    city: { wish: login.cities, value: login.cities[0] },
    zip: { wish: login.zips, value: login.zips[0] },
    asn: { wish: login.asns, value: login.asns[0]?.toString() },
  }
  const values: Record<string, string> = {}
  for (const [name, { wish, value }] of Object.entries(asked)) {
    if (wish.length === 0) continue
    if (value === undefined || !taken.has(name)) return undefined
    values[name] = value
  }
  return { ...values, ...(country !== undefined && { COUNTRY: country.toUpperCase() }) }
}

/** Whatever a supplier's login cannot be written without and the customer leaves open. */
function otherwiseFor(exit: NodeExit): TemplateValues {
  const [first] = exit.offers ?? []
  if (first === undefined || first === anyCountry) return { minutes: usualMinutes }
  return { minutes: usualMinutes, country: first, COUNTRY: first.toUpperCase() }
}

/** Whether a supplier's exit offers what a login asks for. */
export function offersPlace(exit: NodeExit, login: ProxyLogin): boolean {
  const asked = readAsked(exit, login)
  const otherwise = { ...otherwiseFor(exit), session: 'x' }
  return asked !== undefined && fillTemplate(exit.credentials?.username ?? '', asked, otherwise) !== undefined
}

/**
 * An exit with the login that its supplier understands for this very customer. A session of his is one of the
 * supplier's: made with a secret that no customer has, so that nobody can name another's.
 */
export function fillLogin(
  exit: NodeExit,
  login: ProxyLogin,
  session: string | undefined,
  deps: { readonly sha256: (text: string) => Uint8Array; readonly random: () => number },
): NodeExit {
  const { credentials } = exit
  if (exit.offers === null || !credentials || !isTemplate(credentials.username)) return exit
  const nameOf = (text: string): string =>
    Buffer.from(deps.sha256(`${credentials.password}\0${text}`))
      .toString('hex')
      .slice(0, sessionLength)
  const asked: TemplateValues = {
    ...readAsked(exit, login),
    ...(session !== undefined && {
      session: nameOf(session),
      minutes: String(login.session?.ttlMinutes ?? usualMinutes),
    }),
  }
  const otherwise = { ...otherwiseFor(exit), session: nameOf(`${deps.random()} ${deps.random()}`) }
  const username = fillTemplate(credentials.username, asked, otherwise)
  return username === undefined ? exit : { ...exit, credentials: { ...credentials, username } }
}

/** The login to try an exit with: what is left open is left out, or as good as any. */
export function triedLogin(exit: NodeExit): NodeExit {
  const { credentials } = exit
  if (exit.offers === null || !credentials || !isTemplate(credentials.username)) return exit
  const any = { country: 'us', COUNTRY: 'US', state: '', city: '', zip: '', asn: '', session: 'turnpike' }
  const username = fillTemplate(credentials.username, {}, { ...any, ...otherwiseFor(exit) }) ?? credentials.username
  return { ...exit, credentials: { ...credentials, username } }
}
