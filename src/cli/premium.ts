import type { Fleet } from '../domains/fleet/index.ts'
import { type Exit, type ExitWord, offersOf, standingOf } from '../domains/premium/exits/rules.ts'
import type { NewExit, Premium } from '../domains/premium/index.ts'
import type { Pricing } from '../domains/pricing/index.ts'
import type { Traffic } from '../domains/traffic/index.ts'
import { formatAddress, readAddress } from '../kernel/address.ts'
import { toGigabytes } from '../kernel/bytes.ts'
import { readCountry } from '../kernel/country.ts'
import { readId } from '../kernel/ids.ts'
import { toSlug } from '../kernel/login.ts'
import { isTemplate, problemOfTemplate } from '../kernel/login-template.ts'
import { toRoubles, toRoubleText, zero } from '../kernel/money.ts'
import { readIso, toIso } from '../kernel/time.ts'
import { type Command, type Given, mistyped, table } from './command.ts'
import { type Opened, orderWord, readNote, readOrder, readTextFile } from './typed.ts'

type Deps = {
  premium: Premium
  pricing: Pricing
  traffic: Traffic
  fleet: Pick<Fleet, 'nodes' | 'findByName'>
  now: () => number
}

export function premiumCommands(open: Opened<Deps>): readonly Command[] {
  return [...poolCommands(open), ...exitCommands(open), ...trafficCommands(open)]
}

function poolCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'pool list',
      summary: 'Lists the pools of premium proxies: their price and their exits. The catalogue says which there are.',
      takes: [],
      options: [],
      run: (given) =>
        open(given, async ({ premium, pricing }) => {
          const { pools } = (await pricing.current()).premium
          const counts = new Map((await premium.exits.pools()).map((each) => [each.pool, each]))
          const rows = [...new Set([...pools.keys(), ...counts.keys()])].map((name) => ({
            pool: name,
            sold: pools.has(name),
            from_rub_per_gb: toRoubles(pools.get(name)?.tiers.at(-1)?.perGigabyte ?? zero),
            expires_days: pools.get(name)?.expiresDays ?? null,
            exits: counts.get(name)?.exits ?? 0,
            serving: counts.get(name)?.serving ?? 0,
          }))
          return {
            json: rows,
            lines: table(
              ['POOL', 'SOLD', 'FROM RUB/GB', 'EXITS', 'SERVING'],
              rows.map((row) => [
                row.pool,
                row.sold ? 'yes' : 'no',
                String(row.from_rub_per_gb),
                String(row.exits),
                String(row.serving),
              ]),
            ),
          }
        }),
    },
  ]
}

function exitCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'exit add',
      summary: 'Adds an exit to a pool: a local address to leave from, or an upstream proxy.',
      takes: [{ name: 'POOL', meaning: 'which pool, as "pool list" shows it' }],
      options: [
        { flag: 'local', value: 'ADDRESS', meaning: 'leave from this address of the gateway' },
        { flag: 'upstream', value: 'URL', meaning: 'leave through this proxy: http://host:port or socks5://host:port' },
        {
          flag: 'username',
          value: 'NAME',
          meaning:
            'how to log in there; a supplier’s template has {country}, {city} and the like, in [brackets] what may be missing',
        },
        {
          flag: 'password-file',
          value: 'FILE',
          meaning: 'a file whose first line is the password; not an argument, which others could see',
        },
        {
          flag: 'node',
          value: 'NAME',
          meaning: 'the gateway that leaves through it, others by way of that one; each gateway itself unless said',
        },
        {
          flag: 'countries',
          value: 'any|CODES',
          meaning: 'of a supplier with a template: any country, or those that it has, with commas between',
        },
        { flag: 'country', value: 'CODE', meaning: 'two letters' },
        { flag: 'state', value: 'NAME', meaning: 'state or region' },
        { flag: 'city', value: 'NAME', meaning: 'city' },
        { flag: 'zip', value: 'CODE', meaning: 'postal code' },
        { flag: 'asn', value: 'N', meaning: 'number of the network' },
      ],
      run: (given) =>
        open(given, async ({ premium, fleet }) => {
          const node = await readGateway(fleet, given.flags['node'])
          const exit = await premium.exits.addOne({ ...(await readExit(given)), node })
          return {
            json: { exit: exit.id, pool: exit.pool, node: exit.node },
            lines: [`${exit.id} leaves from ${exit.host} in ${exit.pool}.`],
          }
        }),
    },
    {
      name: 'exit list',
      summary: 'Lists exits, and whether gateways can leave through them.',
      takes: [],
      options: [
        { flag: 'pool', value: 'POOL', meaning: 'of one pool' },
        { flag: 'after', value: 'EXIT', meaning: 'begin after this one' },
      ],
      run: (given) =>
        open(given, async ({ premium, fleet, now }) => {
          const exits = await premium.exits.list(given.flags['pool'], given.flags['after'] ?? '', mostListed)
          const words = Map.groupBy(await premium.exits.words(exits.map((exit) => exit.id)), (word) => word.exit)
          const names = new Map((await fleet.nodes('gateway')).map((node) => [node.id as string, node.name]))
          const nameOf = (node: string): string => names.get(node) ?? node
          const stateOf = (exit: Exit) => standingOf(exit, words.get(exit.id) ?? [], now())
          return {
            json: exits.map((exit) => ({
              exit: exit.id,
              pool: exit.pool,
              kind: exit.kind,
              host: exit.host,
              port: exit.port,
              offers: exit.offers,
              country: exit.country,
              state: exit.state,
              city: exit.city,
              zip: exit.zip,
              asn: exit.asn,
              node: exit.node === null ? null : nameOf(exit.node),
              drained_at: exit.drainedAt === null ? null : toIso(exit.drainedAt),
              status: stateOf(exit),
              said: (words.get(exit.id) ?? []).map((word) => ({
                node: nameOf(word.node),
                up: word.isUp,
                since: toIso(word.sinceAt),
                reason: word.reason,
                at: toIso(word.saidAt),
              })),
            })),
            lines: table(
              ['EXIT', 'POOL', 'LEAVES FROM', 'NODE', 'PLACE', 'ASN', 'STATUS', 'WHY'],
              exits.map((exit) => [
                exit.id,
                exit.pool,
                exit.kind === 'local' ? exit.host : `${exit.kind}://${exit.host}:${exit.port}`,
                exit.node === null ? 'any' : nameOf(exit.node),
                placeOf(exit),
                exit.asn === null ? '' : String(exit.asn),
                stateOf(exit),
                whyDown(words.get(exit.id) ?? [], nameOf),
              ]),
            ),
          }
        }),
    },
    compareCommand(open),
    {
      name: 'exit drain',
      summary: 'Takes an exit out of service; --undo puts it back.',
      takes: [{ name: 'EXIT', meaning: "the exit's id, ext_…" }],
      options: [{ flag: 'undo', meaning: 'serve again' }],
      run: (given) =>
        open(given, async ({ premium }) => {
          const id = readId('exit', given.words[0] ?? '')
          if (!id) throw mistyped('EXIT is an id like ext_…, as "exit list" shows it.')
          const drained = !given.has('undo')
          await premium.exits.drain(id, drained)
          return { json: { exit: id, drained }, lines: [`${id} ${drained ? 'is drained' : 'serves'}.`] }
        }),
    },
  ]
}

/** The days of two books beside each other: what went through an exit here, and what its supplier counted. */
function compareCommand(open: Opened<Deps>): Command {
  return {
    name: 'exit compare',
    summary: 'Compares what a supplier counted with what went through its exit here, by days in UTC.',
    takes: [{ name: 'EXIT', meaning: "the exit's id, ext_…" }],
    options: [
      { flag: 'from', value: 'DAY', meaning: 'the first day, like 2026-01-01' },
      { flag: 'to', value: 'DAY', meaning: 'the last day' },
      {
        flag: 'supplied',
        value: 'BYTES|FILE.csv',
        meaning: 'what the supplier counted: in all, or a file with lines of day,bytes',
      },
    ],
    run: (given) =>
      open(given, async ({ premium }) => {
        const id = readId('exit', given.words[0] ?? '')
        if (!id) throw mistyped('EXIT is an id like ext_…, as "exit list" shows it.')
        const [from, to] = [readDay(given, 'from'), readDay(given, 'to')]
        if (to < from || to - from > mostDays * dayMs) throw mistyped(`--to is at most ${mostDays} days after --from.`)
        const supplied = await readSupplied(given.flags['supplied'] ?? '', from, to)
        const days = new Map((await premium.exits.days(id, from, to)).map((each) => [each.day, each]))
        const rows = [...new Set([...days.keys(), ...supplied.byDay.keys()])]
          .toSorted((a, b) => a - b)
          .map((day) => {
            const { received = 0n, sent = 0n } = days.get(day) ?? {}
            return { day: toIso(day).slice(0, 10), carried: received + sent, supplied: supplied.byDay.get(day) ?? null }
          })
        const carried = rows.reduce((sum, row) => sum + row.carried, 0n)
        const difference = supplied.total - carried
        const share = carried === 0n ? null : Number((difference * 10_000n) / carried) / 100
        return {
          json: {
            exit: id,
            carried_bytes: Number(carried),
            supplied_bytes: Number(supplied.total),
            difference_bytes: Number(difference),
            difference_percent: share,
            days: rows.map((row) => ({
              day: row.day,
              carried_bytes: Number(row.carried),
              supplied_bytes: row.supplied === null ? null : Number(row.supplied),
            })),
          },
          lines: [
            ...table(
              ['DAY', 'CARRIED', 'SUPPLIED', 'DIFFERENCE'],
              rows.map(({ day, carried: ours, supplied: theirs }) => [
                day,
                String(ours),
                theirs === null ? '' : String(theirs),
                theirs === null ? '' : String(theirs - ours),
              ]),
            ),
            `In all: ${carried} bytes here, ${supplied.total} at the supplier: ${difference} bytes` +
              `${share === null ? '' : ` (${share} %)`} more there.`,
          ],
        }
      }),
  }
}

const dayMs = 86_400_000
const mostDays = 400

function readDay(given: Given, flag: 'from' | 'to'): number {
  const text = given.flags[flag] ?? ''
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? readIso(text) : undefined
  if (at === undefined) throw mistyped(`--${flag} is a day, like 2026-01-31.`)
  return at
}

/** A number of bytes, or a file of days. Days outside of those asked for are left out. */
async function readSupplied(
  text: string,
  from: number,
  to: number,
): Promise<{ total: bigint; byDay: ReadonlyMap<number, bigint> }> {
  if (/^\d{1,18}$/.test(text)) return { total: BigInt(text), byDay: new Map() }
  if (!text.endsWith('.csv')) throw mistyped('--supplied is a number of bytes, or a file that ends in .csv.')
  const byDay = new Map<number, bigint>()
  for (const [index, line] of (await readTextFile(text)).split(/\r?\n/).entries()) {
    const match = /^"?(\d{4}-\d{2}-\d{2})"?[,;]"?(\d{1,18})"?$/.exec(line.trim())
    if (line.trim() === '' || (!match && index === 0)) continue
    const day = match?.[1] === undefined ? undefined : readIso(match[1])
    if (day === undefined) throw mistyped(`Line ${index + 1} of ${text} is not a day and a number of bytes.`)
    if (day >= from && day <= to) byDay.set(day, (byDay.get(day) ?? 0n) + BigInt(match?.[2] ?? 0))
  }
  return { total: [...byDay.values()].reduce((sum, each) => sum + each, 0n), byDay }
}

function trafficCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'traffic refund',
      summary: 'Takes back what is unused of a purchase of traffic and returns that part of its price, once.',
      takes: [orderWord],
      options: [{ flag: 'note', value: 'TEXT', meaning: 'why; the customer sees it' }],
      run: (given) =>
        open(given, async ({ premium }) => {
          const id = readOrder(given.words[0])
          const refund = await premium.traffic.refund(id, readNote(given, 'unused traffic'))
          const gb = toGigabytes(refund.returned)
          return {
            json: {
              order: id,
              returned_gb: gb,
              refunded_rub: toRoubles(refund.money),
              balance_rub: toRoubles(refund.balance),
            },
            lines: [`Took back ${gb} GB and refunded ${toRoubleText(refund.money)} RUB.`],
          }
        }),
    },
    {
      name: 'usage quarantine',
      summary:
        'Lists what nodes have claimed beyond their leases, or beyond what their links can carry. It is not billed.',
      takes: [],
      options: [],
      run: (given) =>
        open(given, async ({ traffic }) => {
          const claims = [
            ...(await traffic.leases.quarantined(mostListed)),
            ...(await traffic.counts.unbelieved(mostListed)),
          ]
          return {
            json: claims.map((each) => ({
              node: each.node,
              boot: each.boot,
              subject: each.subject,
              bytes: Number(each.bytes),
              at: toIso(each.at),
            })),
            lines:
              claims.length === 0
                ? ['No claim is in quarantine.']
                : table(
                    ['NODE', 'BOOT', 'SUBJECT', 'BYTES', 'LAST'],
                    claims.map((each) => [each.node, each.boot, each.subject, String(each.bytes), toIso(each.at)]),
                  ),
          }
        }),
    },
  ]
}

const mostListed = 10_000

/** What each gateway that cannot leave through an exit says is wrong. */
const whyDown = (words: readonly ExitWord[], nameOf: (node: string) => string): string =>
  words
    .filter((word) => !word.isUp)
    .map((word) => `${nameOf(word.node)}: ${word.reason}`)
    .join('; ')

/** The id of a gateway that is named. */
async function readGateway(fleet: Pick<Fleet, 'findByName'>, name: string | undefined): Promise<string | null> {
  if (name === undefined) return null
  const node = await fleet.findByName(name)
  if (node?.kind !== 'gateway') throw mistyped('--node is the name of a gateway, as "node list" shows it.')
  return node.id
}

const placeOf = (exit: Exit): string => {
  if (exit.offers === null) return [exit.country, exit.state, exit.city, exit.zip].filter(Boolean).join(', ')
  return exit.offers.countries === 'any' ? 'any country' : exit.offers.countries.join(', ')
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

async function readExit(given: Given): Promise<NewExit> {
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
