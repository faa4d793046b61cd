import type { Fleet } from '../domains/fleet/index.ts'
import { type Exit, type ExitWord, standingOf } from '../domains/premium/exits/rules.ts'
import type { NewExit, Premium } from '../domains/premium/index.ts'
import type { Pricing } from '../domains/pricing/index.ts'
import type { Traffic } from '../domains/traffic/index.ts'
import { formatAddress, readAddress } from '../kernel/address.ts'
import { toGigabytes } from '../kernel/bytes.ts'
import { readId } from '../kernel/ids.ts'
import { toSlug } from '../kernel/login.ts'
import { toRoubles, toRoubleText, zero } from '../kernel/money.ts'
import { toIso } from '../kernel/time.ts'
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
        { flag: 'username', value: 'NAME', meaning: 'how to log in there' },
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
                [exit.country, exit.state, exit.city, exit.zip].filter(Boolean).join(', '),
                exit.asn === null ? '' : String(exit.asn),
                stateOf(exit),
                whyDown(words.get(exit.id) ?? [], nameOf),
              ]),
            ),
          }
        }),
    },
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

async function readExit(given: Given): Promise<NewExit> {
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
