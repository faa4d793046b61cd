import type { RangeOperator } from '../domains/dedicated/index.ts'
import { outageAfterMs } from '../domains/dedicated/outages/rules.ts'
import type { Fleet } from '../domains/fleet/index.ts'
import { lookAtRanges, type RangeSight, reasonsOf, type Stock } from '../domains/stock/index.ts'
import { countOf, isServing } from '../domains/stock/ranges/rules.ts'
import { type Prefix, readPrefix } from '../kernel/address.ts'
import { ageAt } from '../kernel/stall-monitor.ts'
import { toIso } from '../kernel/time.ts'
import { type Command, type Given, mistyped, table } from './command.ts'
import type { Opened } from './typed.ts'

type Deps = { stock: Stock; fleet: Fleet; rangeOperator: RangeOperator; now: () => number }

export const nodeOption = {
  flag: 'node',
  value: 'NAME,…',
  meaning: 'the gateways that it is on; any that proves that it can use it, unless said',
}

/** The gateways that were named, by their ids. */
export const readHomes = (stock: Stock, given: Given): Promise<string[]> =>
  stock.ranges.homesOf((given.flags['node'] ?? '').split(',').filter((name) => name !== ''))

/** Which addresses are on which nodes, as wished and as tried. */
export function rangeCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'stock assign',
      operation: 'assignRange',
      summary: 'Says which gateways addresses are on. Those that may not carry them any more let go at once.',
      takes: [{ name: 'PREFIX', meaning: 'a range in stock, a part of one, or many of them' }],
      options: [nodeOption, { flag: 'any', meaning: 'any gateway that proves that it can use them' }],
      run: (given) => open(given, ({ stock }) => assign(stock, given)),
    },
    {
      name: 'stock move',
      operation: 'moveRange',
      summary:
        'Moves addresses to other gateways, with what was sold of them. Customers are told when it goes on there.',
      takes: [{ name: 'PREFIX', meaning: 'a range in stock, a part of one, or many of them' }],
      options: [
        { ...nodeOption, meaning: 'the gateways that it moves to' },
        { flag: 'dry-run', meaning: 'say whom it would touch and whether they are there, and change nothing' },
      ],
      run: (given) => open(given, (deps) => move(deps, given)),
    },
    {
      name: 'stock ranges',
      operation: 'listRanges',
      summary: 'Lists ranges: which gateways they are on, how much of each is served now, and why the rest is not.',
      takes: [],
      options: [],
      run: (given) =>
        open(given, async (deps) => {
          const shown = await lookAtRanges(deps, ageAt(deps.now()))
          return {
            json: shown.map(toJson),
            lines: table(
              ['RANGE', 'ON', 'PLACES', 'SERVED', 'BY', 'WHY NOT'],
              shown.map((each) => [
                each.range.prefix,
                each.homes.length === 0 ? 'any' : each.homes.join(', '),
                each.isBlock ? 'block' : String(each.places),
                each.isBlock ? (each.served > 0 ? 'yes' : 'no') : String(each.served),
                each.by.join(', '),
                each.problems.join('; '),
              ]),
            ),
          }
        }),
    },
    {
      name: 'node show',
      operation: 'showNode',
      summary: 'Shows what a gateway can use of the addresses that it was told to try, and what is in the way.',
      takes: [{ name: 'NAME', meaning: 'the node\'s name, as "node list" shows it' }],
      options: [],
      run: (given) => open(given, (deps) => showNode(deps, given.words[0] ?? '')),
    },
  ]
}

function readRange(text: string): Prefix {
  const prefix = readPrefix(text)
  if (!prefix) throw mistyped(`${text} is not a prefix.`)
  return prefix
}

/** Those that it moves to prove it within seconds if they can use it; whoever waits for longer is interrupted. */
async function move({ stock, rangeOperator }: Deps, given: Given) {
  const text = given.words[0] ?? ''
  const prefix = readRange(text)
  if (!given.has('node')) throw mistyped('Say --node NAME.')
  const homes = await readHomes(stock, given)
  const isDry = given.has('dry-run')
  const { proxies, customers, away, ranges } = await rangeOperator.move(prefix, homes, isDry)
  const whom = `${proxies.length} proxies of ${customers} customers`
  const limit = `${outageAfterMs / 1000} seconds`
  return {
    json: { dry_run: isDry, prefix: text, nodes: homes, ranges, proxies, customers, away },
    lines: [
      isDry ? `${whom} would move. Nothing was changed.` : `${text} is on ${given.flags['node']} now, with ${whom}.`,
      `They go on when it has tried the addresses; whoever waits for ${limit} is interrupted, and made good.`,
      ...away.map((name) => `${name} was not heard of lately.`),
    ],
  }
}

async function assign(stock: Stock, given: Given) {
  const text = given.words[0] ?? ''
  const prefix = readRange(text)
  if (given.has('any') === given.has('node')) throw mistyped('Say either --node NAME or --any.')
  const homes = await readHomes(stock, given)
  const ranges = await stock.ranges.assign(prefix, homes)
  const where = homes.length === 0 ? 'any gateway that can use it' : given.flags['node']
  return { json: { prefix: text, ranges, nodes: homes }, lines: [`${text} is on ${where} now.`] }
}

const toJson = (each: RangeSight) => ({
  range: each.range.prefix,
  nodes: each.homes,
  block: each.isBlock,
  places: each.places,
  served: each.served,
  served_by: each.by,
  problems: each.problems,
})

async function showNode({ stock, fleet, now }: Deps, name: string) {
  const node = await fleet.findByName(name)
  if (!node) throw mistyped(`There is no node called ${name}.`)
  const { ranges, trials } = await stock.ranges.overview()
  const own = trials.filter((each) => each.node === node.id)
  const rows = own.map((trial) => ({
    range: ranges.find((each) => each.id === trial.range)?.prefix ?? '',
    can_use: countOf(trial.served),
    problems: trial.problems,
    seen_as: trial.seenAs,
    since: toIso(trial.changedAt),
  }))
  const isThere = isServing(node, ageAt(now()))
  const absence = node.health?.isStopping ? 'stopped' : 'not heard of'
  const state = node.state === 'closed' ? 'closed' : isThere ? 'there' : absence
  return {
    json: { id: node.id, name: node.name, kind: node.kind, serves: isThere, ranges: rows },
    lines: [
      `${node.name} is ${state}; last heard of ${node.lastSeenAt === null ? 'never' : toIso(node.lastSeenAt)}.`,
      ...table(
        ['RANGE', 'CAN USE', 'WHY NOT THE REST', 'SEEN AS', 'SINCE'],
        own.map((trial, index) => [
          rows[index]?.range ?? '',
          String(rows[index]?.can_use ?? 0),
          reasonsOf(trial).join('; '),
          trial.seenAs ?? '',
          rows[index]?.since ?? '',
        ]),
      ),
    ],
  }
}
