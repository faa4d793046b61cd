import type { Fleet } from '../domains/fleet/index.ts'
import { type Exit, type ExitWord, standingOf } from '../domains/premium/exits/rules.ts'
import type { Premium } from '../domains/premium/index.ts'
import { readId } from '../kernel/ids.ts'
import { ageAt } from '../kernel/stall-monitor.ts'
import { toIso } from '../kernel/time.ts'
import { type Command, mistyped, table } from './command.ts'
import { compareCommand } from './exit-compare.ts'
import { readExit, readGateway } from './exit-reading.ts'
import type { Opened } from './typed.ts'

type Deps = { premium: Premium; fleet: Pick<Fleet, 'nodes' | 'findByName'>; now: () => number }

const mostListed = 10_000

export function exitCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'exit add',
      operation: 'addExit',
      summary: 'Adds an exit to a pool: a local address to leave from, or an upstream proxy.',
      takes: [{ name: 'POOL', meaning: 'which pool, as "pool list" shows it' }],
      options: [
        { flag: 'local', value: 'ADDRESS', meaning: 'leave from this address of the gateway' },
        { flag: 'upstream', value: 'URL', meaning: 'leave through this proxy: http://host:port or socks5://host:port' },
        {
          flag: 'username',
          value: 'NAME',
          meaning:
            'how to log in there; a template has {country}, {city} and the like, in [brackets] what may be missing',
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
      operation: 'listExits',
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
          const stateOf = (exit: Exit) => standingOf(exit, words.get(exit.id) ?? [], ageAt(now()))
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
      operation: 'drainExit',
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

/** What each gateway that cannot leave through an exit says is wrong. */
const whyDown = (words: readonly ExitWord[], nameOf: (node: string) => string): string =>
  words
    .filter((word) => !word.isUp)
    .map((word) => `${nameOf(word.node)}: ${word.reason}`)
    .join('; ')

const placeOf = (exit: Exit): string => {
  if (exit.offers === null) return [exit.country, exit.state, exit.city, exit.zip].filter(Boolean).join(', ')
  return exit.offers.countries === 'any' ? 'any country' : exit.offers.countries.join(', ')
}
