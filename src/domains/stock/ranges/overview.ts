import { addressFromNumber, addressToNumber, formatAddress, readPrefix } from '../../../core/address.ts'
import type { BoundCases } from '../../../core/bind.ts'
import type { RunningSince } from '../../../core/stall-monitor.ts'
import { toIso } from '../../../core/time.ts'
import type { Fleet } from '../../fleet/index.ts'
import type { Node } from '../../fleet/rules.ts'
import type { overview as readOverview } from './assign.ts'
import {
  countOf,
  isBlock,
  isServing,
  type JudgedTrial,
  proofMs,
  type StockRange,
  servingWithinMs,
  type Trial,
} from './rules.ts'

/** All ranges: their gateways, how many slots are served now and by which, and why the others are not. */
export async function lookAtRanges(
  deps: {
    readonly stock: { readonly ranges: BoundCases<{ overview: typeof readOverview }> }
    readonly fleet: Pick<Fleet, 'nodes'>
  },
  since: RunningSince,
) {
  const overview = await deps.stock.ranges.overview()
  const { ranges, trials, slotCounts: counts, blocks } = overview
  const retired = retiredIn(overview)
  const nodes = new Map<string, Node>((await deps.fleet.nodes('gateway')).map((node) => [node.id, node]))
  const nameOf = (id: string): string => nodes.get(id)?.name ?? id
  const isThere = (id: string | null): boolean => {
    const node = id === null ? undefined : nodes.get(id)
    return node !== undefined && isServing(node, since)
  }
  const blockNodes = new Map(blocks.map((block) => [block.prefix, block.serving_node]))
  const countsOf = Map.groupBy(counts, (each) => each.range)
  const trialsOf = Map.groupBy(trials, (each) => each.range)
  return ranges.map((range) => {
    const mine = countsOf.get(range.id) ?? []
    const hasBlock = blockNodes.has(range.prefix)
    const blockNode = blockNodes.get(range.prefix) ?? null
    const countsByNode = hasBlock ? [{ servingNode: blockNode, slots: 1 }] : mine
    const served = countsByNode.filter((each) => isThere(each.servingNode))
    const ofRange = trialsOf.get(range.id) ?? []
    const isSold = range.state === 'in' && (hasBlock || mine.length > 0) && !retired.has(range.id)
    return {
      range,
      nodeIds: range.nodeIds.map(nameOf),
      isBlock: hasBlock,
      isRetired: retired.has(range.id),
      slots: mine.reduce((sum, each) => sum + each.slots, 0),
      served: served.reduce((sum, each) => sum + each.slots, 0),
      isLost: isSold && served.length === 0 && isLost(range, ofRange, isThere, since),
      by: [...new Set(served.map((each) => nameOf(each.servingNode ?? '')))],
      problems: retired.has(range.id) ? [] : whyNot(range, ofRange, nodes, isThere),
    }
  })
}

/** A gateway that starts tries its ranges within seconds. */
const lostAfterMs = 60_000

/** Gateways that report have tried the range for a minute and do not have it, and no absent one had it. */
function isLost(
  { nodeIds }: StockRange,
  trials: readonly JudgedTrial[],
  isThere: (id: string) => boolean,
  since: RunningSince,
): boolean {
  const candidates = trials.filter((each) => nodeIds.length === 0 || nodeIds.includes(each.node))
  const present = candidates.filter((each) => isThere(each.node))
  const isElsewhereNow = candidates.some((each) => !isThere(each.node) && each.served.length > 0)
  return !isElsewhereNow && present.length > 0 && present.every((each) => since(each.changedAt) > lostAfterMs)
}

/** Ranges whose addresses are all retired. No gateway needs them, so they have no problems. */
export function retiredIn({
  ranges,
  slotCounts,
  blocks,
}: Pick<Awaited<ReturnType<typeof readOverview>>, 'ranges' | 'slotCounts' | 'blocks'>): ReadonlySet<number> {
  const used = new Set(slotCounts.map((each) => each.range))
  const onSale = new Set(blocks.map((each) => each.prefix))
  const retired = ranges.filter(({ id, prefix, state }) => state === 'in' && !used.has(id) && !onSale.has(prefix))
  return new Set(retired.map((each) => each.id))
}

function whyNot(
  range: StockRange,
  trials: readonly JudgedTrial[],
  nodes: ReadonlyMap<string, Node>,
  isThere: (id: string) => boolean,
): string[] {
  const candidates = range.nodeIds.length === 0 ? trials.map((each) => each.node) : range.nodeIds
  const reasons = candidates.flatMap((id) => {
    const node = nodes.get(id)
    const name = node?.name ?? id
    if (node?.state === 'closed') return [`${name} is closed`]
    if (node?.health?.isStopping) return [`${name} is stopping`]
    if (!isThere(id)) return [`${name} has sent no report for ${servingWithinMs / 1000} seconds`]
    const trial = trials.find((each) => each.node === id)
    if (!trial) return [`${name} has not tried it yet`]
    if (isElsewhere(range, trial, trials)) return []
    const seen = trial.seenAs === null ? [] : [`${name} is seen as ${trial.seenAs}`]
    return [...reasonsOf(trial, range.prefix, name).map((each) => `${name}: ${each}`), ...seen]
  })
  return reasons.length === 0 && trials.length === 0 ? ['no gateway has tried it yet'] : reasons
}

/** Any node may have the range, another one has it, and this node has none of it: the operator needs to do nothing. */
export const isElsewhere = (
  range: Pick<StockRange, 'nodeIds'>,
  trial: Trial,
  /** The trials of this range by all nodes. */
  trials: readonly Trial[],
): boolean =>
  range.nodeIds.length === 0 &&
  trials.some((each) => each.served.length > 0) &&
  trial.problems.length > 0 &&
  trial.served.length === 0 &&
  trial.problems.every((each) => each.problem === 'not_on_this_machine')

/** Addresses of a range that a node has one problem with. */
type Troubled = {
  /** The first of them, and how many follow. */
  readonly which: string
  readonly are: string
  readonly range: string
  readonly node: string
}

const setupOf = ({ range }: Troubled): string => `run "turnpike range setup ${range}"`

const advised: Readonly<Record<string, (of: Troubled) => string>> = {
  not_on_this_machine: (of) => `${of.which} ${of.are} not on this machine: ${setupOf(of)} on ${of.node}`,
  cannot_leave: (of) =>
    `${of.which} cannot leave: no call from there reaches the shop. Check that your provider routes ${of.range} ` +
    `to ${of.node}, and ${setupOf(of)} there`,
  not_listened_on: (of) =>
    `customers cannot connect to ${of.which}: the gateway listens on another address only. ` +
    `Set TURNPIKE_GATEWAY_LISTEN=:: on ${of.node}, and restart it`,
  no_such_family: (of) => `${of.which} cannot be used: ${familyOf(of.range)} is switched off on ${of.node}`,
}

const familyOf = (range: string): string => (range.includes(':') ? 'IPv6' : 'IPv4')

const sentences: Readonly<Record<string, (range: string) => string>> = {
  edge_of_its_network: () => 'not served: the network address or the broadcast address',
  egress_not_checked_no_public_url: () => 'egress not checked: the shop is on this machine and has no public https URL',
  egress_not_checked_shop_not_trusted: () =>
    'egress not checked: the shop’s certificate is not trusted there (NODE_EXTRA_CA_CERTS names a CA of your own)',
  egress_not_checked_no_shop_address: (range) =>
    `egress not checked: the host of TURNPIKE_PUBLIC_URL has no ${familyOf(range)} address ` +
    `(no ${range.includes(':') ? 'AAAA' : 'A'} record in DNS)`,
  egress_not_checked_no_route: (range) =>
    `egress not checked: the gateway’s machine has no ${familyOf(range)} route to the shop`,
  egress_not_checked_shop_not_reached: (range) =>
    `egress not checked: the shop does not answer the gateway over ${familyOf(range)}`,
}

function addressIn(range: string, offset: number): string | undefined {
  const prefix = readPrefix(range)
  if (!prefix) return undefined
  return formatAddress(addressFromNumber(prefix.base.version, addressToNumber(prefix.base) + BigInt(offset)))
}

const unproven =
  'the shop has seen no call from an address of the range for ' +
  `${proofMs / 3_600_000} hour; where it cannot (NAT), name the gateway: "turnpike stock assign PREFIX --node NAME"`

/** The problems of a node with a range: which addresses have each, and what to do. */
export function reasonsOf(trial: JudgedTrial, range: string, node: string): string[] {
  const found = Map.groupBy(trial.problems, (each) => each.problem)
  const reasons = [...found].map(([problem, runs]) => {
    const count = runs.reduce((sum, each) => sum + each.count, 0)
    const sentence = advised[problem]
    const isWhole = isBlock({ prefix: range })
    if (!sentence) {
      const plain = sentences[problem]?.(range) ?? problem.replaceAll('_', ' ')
      return isWhole ? plain : `${count} ${plain}`
    }
    const first = isWhole ? undefined : addressIn(range, runs[0]?.first ?? 0)
    if (first === undefined) return sentence({ which: `addresses of ${range}`, are: 'are', range, node })
    const which = count === 1 ? first : `${first} and ${count - 1} more`
    return sentence({ which, are: count === 1 ? 'is' : 'are', range, node })
  })
  const claimed = countOf(trial.served)
  if (trial.proof === 'given' || claimed === 0) return reasons
  const until = trial.proof === 'due' ? `sold only until ${toIso(trial.proofUntil)}` : 'not sold'
  return [...reasons, `${claimed} claimed and not proven, ${until}: ${unproven}`]
}
