import type { RangeOperator } from '../domains/dedicated/index.ts'
import { outageAfterMs } from '../domains/dedicated/outages/rules.ts'
import type { Fleet } from '../domains/fleet/index.ts'
import type { Node } from '../domains/fleet/rules.ts'
import type { Stock } from '../domains/stock/index.ts'
import { countOf, isServing, type Range, servingWithinMs, type Trial } from '../domains/stock/ranges/rules.ts'
import { type Prefix, readPrefix } from '../kernel/address.ts'
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
      summary: 'Says which gateways addresses are on. Those that may not carry them any more let go at once.',
      takes: [{ name: 'PREFIX', meaning: 'a range in stock, a part of one, or many of them' }],
      options: [nodeOption, { flag: 'any', meaning: 'any gateway that proves that it can use them' }],
      run: (given) => open(given, ({ stock }) => assign(stock, given)),
    },
    {
      name: 'stock move',
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
      summary: 'Lists ranges: which gateways they are on, how much of each is served now, and why the rest is not.',
      takes: [],
      options: [],
      run: (given) =>
        open(given, async (deps) => {
          const shown = await look(deps)
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
async function move({ stock, fleet, rangeOperator, now }: Deps, given: Given) {
  const text = given.words[0] ?? ''
  const prefix = readRange(text)
  if (!given.has('node')) throw mistyped('Say --node NAME.')
  const homes = await readHomes(stock, given)
  const { proxies, customers } = await rangeOperator.survey(prefix)
  const away = (await fleet.nodes('gateway'))
    .filter((node) => homes.includes(node.id) && !isServing(node, now()))
    .map((node) => node.name)
  const isDry = given.has('dry-run')
  const ranges = isDry ? 0 : await stock.ranges.assign(prefix, homes)
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

type Shown = {
  readonly range: Range
  readonly homes: readonly string[]
  readonly isBlock: boolean
  readonly places: number
  readonly served: number
  readonly by: readonly string[]
  readonly problems: readonly string[]
}

/** Every range as it stands: what a node carries that is there now counts as served. */
async function look({ stock, fleet, now }: Deps): Promise<Shown[]> {
  const { ranges, trials, standings, blocks } = await stock.ranges.overview()
  const nodes = new Map((await fleet.nodes('gateway')).map((node) => [node.id as string, node]))
  const nameOf = (id: string): string => nodes.get(id)?.name ?? id
  const isThere = (id: string | null): boolean => {
    const node = id === null ? undefined : nodes.get(id)
    return node !== undefined && isServing(node, now())
  }
  const carriers = new Map(blocks.map((block) => [block.prefix, block.carrier]))
  const standingOf = Map.groupBy(standings, (each) => each.range)
  const trialsOf = Map.groupBy(trials, (each) => each.range)
  return ranges.map((range) => {
    const mine = standingOf.get(range.id) ?? []
    const isBlock = carriers.has(range.prefix)
    const blockCarrier = carriers.get(range.prefix) ?? null
    const carried = isBlock ? [{ carrier: blockCarrier, places: 1 }] : mine
    const served = carried.filter((each) => isThere(each.carrier))
    const said = trialsOf.get(range.id) ?? []
    return {
      range,
      homes: range.homes.map(nameOf),
      isBlock,
      places: mine.reduce((sum, each) => sum + each.places, 0),
      served: served.reduce((sum, each) => sum + each.places, 0),
      by: [...new Set(served.map((each) => nameOf(each.carrier ?? '')))],
      problems: whyNot(range, said, nodes, isThere),
    }
  })
}

function whyNot(
  range: Range,
  trials: readonly Trial[],
  nodes: ReadonlyMap<string, Node>,
  isThere: (id: string) => boolean,
): string[] {
  const asked = range.homes.length === 0 ? trials.map((each) => each.node) : range.homes
  const reasons = asked.flatMap((id) => {
    const node = nodes.get(id)
    const name = node?.name ?? id
    if (node?.state === 'closed') return [`${name} is closed`]
    if (node?.health?.isStopping) return [`${name} was told to stop`]
    if (!isThere(id)) return [`${name} was not heard of for ${servingWithinMs / 1000} seconds`]
    const trial = trials.find((each) => each.node === id)
    if (!trial) return [`${name} has not tried it yet`]
    const seen = trial.seenAs === null ? [] : [`${name} is seen as ${trial.seenAs}`]
    return [...toReasons(trial).map((each) => `${name}: ${each}`), ...seen]
  })
  return reasons.length === 0 && trials.length === 0 ? ['no gateway has tried it yet'] : reasons
}

const sentences: Readonly<Record<string, string>> = {
  leaving_not_tried_no_public_url: 'served, leaving not tried: the shop is on this machine and has no public https URL',
  leaving_not_tried_shop_not_reached: 'served, leaving not tried: the shop cannot be called in this family',
}

/** What is in the way, each kind of trouble once, with how many addresses it has. */
function toReasons(trial: Trial): string[] {
  const counts = new Map<string, number>()
  for (const { problem, count } of trial.problems) counts.set(problem, (counts.get(problem) ?? 0) + count)
  return [...counts].map(([problem, count]) => `${count} ${sentences[problem] ?? problem.replaceAll('_', ' ')}`)
}

const toJson = (each: Shown) => ({
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
  const isThere = isServing(node, now())
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
          toReasons(trial).join('; '),
          trial.seenAs ?? '',
          rows[index]?.since ?? '',
        ]),
      ),
    ],
  }
}
