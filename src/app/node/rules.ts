import { type Prefix, readAddress, readPrefix, unmap } from '../../core/address.ts'
import type { Snapshot } from '../../dataplane/agent/snapshot.ts'
import type { PagePlace } from '../../dataplane/agent/sync.ts'
import { noLimit, type Speeds } from '../../dataplane/gateway/metering/speed-limit.ts'
import type { StatePage } from '../../node-protocol/state.ts'
import { type GatewayConfig, policyOf } from '../settings/gateway.ts'

const megabit = 125_000
const speedOf = (megabits: number | null | undefined): number =>
  megabits === null || megabits === undefined ? Number.POSITIVE_INFINITY : megabits * megabit

export type Rules = ReturnType<typeof createRules>

/** Egress policy and speed limits, from the shop's mode, ranges, exits and gateways and this machine's addresses. */
export function createRules(
  config: GatewayConfig,
  { shopUrl, lookup }: { readonly shopUrl: string; readonly lookup: (name: string) => Promise<readonly string[]> },
) {
  let mode: StatePage['mode'] = 'production'
  const ranges = new Map<number, Prefix>()
  /** Ranges that were not named yet, while the whole state is read again. */
  let unnamed = new Set<number>()
  let exits: readonly Prefix[] = []
  const shopHost = URL.parse(shopUrl)?.hostname.replace(/^\[|\]$/g, '') ?? ''
  /** Addresses and names of the shop and its gateways. */
  let hosts: ReadonlySet<string> = new Set([shopHost])
  /** Last known addresses of each of these names. */
  const addressesOf = new Map<string, readonly Prefix[]>()
  /** Changed since the policy was made. The policy is made again with the last of several pages. */
  let isListChanged = false
  let policy = policyOf(config, mode, prefixesOf(shopHost))
  let speeds: Speeds = noLimit
  let heardAt = 0

  function makePolicy(): void {
    const machines = [...hosts].flatMap((host) => addressesOf.get(host) ?? prefixesOf(host))
    policy = policyOf(config, mode, [...ranges.values(), ...exits, ...machines])
  }

  /** A name that is not known now keeps the addresses that it last led to. */
  async function lookUp(name: string): Promise<void> {
    const found = await lookup(name).catch(() => undefined)
    if (found && hosts.has(name)) addressesOf.set(name, found.flatMap(prefixesOf))
  }

  /** Looks at this machine's addresses, and at those of the shop and the gateways, one lookup for each name. */
  async function lookAround(): Promise<void> {
    makePolicy()
    const named = [...hosts].filter((host) => host !== '' && readAddress(host) === undefined)
    if (named.length === 0) return
    await Promise.all(named.map(lookUp))
    makePolicy()
  }

  function hearHosts(gateways: Iterable<{ readonly host: string }>): void {
    hosts = new Set([shopHost, ...Array.from(gateways, ({ host }) => host)])
    for (const name of addressesOf.keys()) if (!hosts.has(name)) addressesOf.delete(name)
  }

  function hearRanges(page: StatePage, place: PagePlace): void {
    if (place.isFirst) unnamed = new Set(ranges.keys())
    for (const { id, prefix: text, gone } of page.ranges) {
      unnamed.delete(id)
      const prefix = readPrefix(text)
      if (gone || !prefix) ranges.delete(id)
      else ranges.set(id, prefix)
    }
    if (!place.isWhole || !place.isLast) return
    for (const id of unnamed) ranges.delete(id)
    unnamed.clear()
  }

  return {
    /** Whether the node has ever had a state. */
    isKnown: () => heardAt > 0,
    heardAt: () => heardAt,
    mode: () => mode,
    policy: () => policy,
    speeds: () => speeds,
    lookAround,

    /** Applies a page after the snapshot has applied it. An exit with a host name adds no address. */
    hear(page: StatePage, place: PagePlace, snapshot: Pick<Snapshot, 'exits' | 'gateways'>): void {
      heardAt = page.now
      const proxy = speedOf(page.speed_mbit?.proxies)
      const subuser = speedOf(page.speed_mbit?.subusers)
      if (proxy !== speeds.proxy || subuser !== speeds.subuser) speeds = { proxy, subuser }
      hearRanges(page, place)
      isListChanged ||= place.isWhole || [page.ranges, page.exits, page.gateways].some((part) => part.length > 0)
      if (page.mode === mode && !(isListChanged && place.isLast)) return
      mode = page.mode
      if (place.isLast) {
        exits = [...snapshot.exits()].flatMap(({ host }) => prefixesOf(host))
        hearHosts(snapshot.gateways())
        isListChanged = false
      }
      void lookAround()
    },
  }
}

/** An address as the prefix of it alone; nothing for a name. */
function prefixesOf(host: string): Prefix[] {
  const read = readAddress(host.split('%', 1)[0] ?? '')
  const base = read && unmap(read)
  return base ? [{ base, length: base.bytes.length * 8 }] : []
}
