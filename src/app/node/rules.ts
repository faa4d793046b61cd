import { isDeepStrictEqual } from 'node:util'
import { type Prefix, readAddress, readPrefix, unmap } from '../../core/address.ts'
import type { Snapshot } from '../../dataplane/agent/snapshot.ts'
import type { PagePosition } from '../../dataplane/agent/sync.ts'
import type { Grace, Policy } from '../../dataplane/gateway/access/policy.ts'
import { noLimit, type Speeds } from '../../dataplane/gateway/metering/speed-limit.ts'
import type { StatePage } from '../../node-protocol/state.ts'
import { type GatewayConfig, policyOf } from '../settings/gateway.ts'

const megabit = 125_000
const speedOf = (megabits: number | null | undefined): number =>
  megabits === null || megabits === undefined ? Number.POSITIVE_INFINITY : megabits * megabit

type WholeSpeeds = Pick<Speeds, 'proxy' | 'subuser'>

/** Egress policy and speed limits, from the shop's mode, ranges, exits and gateways and this machine's addresses. */
export class GatewayRules {
  mode: StatePage['mode'] = 'production'
  policy: Policy
  /** This process's share of the speed limits. */
  speeds: Speeds = noLimit
  private wholeSpeeds: WholeSpeeds = noLimit
  private speedShare = 1
  /** Time of the last page by the shop's clock; 0 before the first page. */
  pageAt = 0
  private readonly ranges = new Map<number, Prefix>()
  /** Ranges that were not named yet, while the whole state is read again. */
  private unnamed = new Set<number>()
  private exits: readonly Prefix[] = []
  private readonly shopHost: string
  /** Addresses and names of the shop and its gateways. */
  private hosts: ReadonlySet<string>
  /** Last known addresses of each of these names. */
  private readonly addressesOf = new Map<string, readonly Prefix[]>()
  private grace: StatePage['grace']
  /** Changed since the policy was made. The policy is made again with the last of several pages. */
  private isListChanged = false

  constructor(
    private readonly config: GatewayConfig,
    shopUrl: string,
    private readonly lookup: (name: string) => Promise<readonly string[]>,
  ) {
    this.shopHost = URL.parse(shopUrl)?.hostname.replace(/^\[|\]$/g, '') ?? ''
    this.hosts = new Set([this.shopHost])
    this.policy = policyOf(config, this.mode, prefixesOf(this.shopHost))
  }

  /** Looks at this machine's addresses, and at those of the shop and the gateways, one lookup for each name. */
  async lookAround(): Promise<void> {
    this.makePolicy()
    const named = this.names.filter((host) => host !== '' && readAddress(host) === undefined)
    if (named.length === 0) return
    await Promise.all(named.map((name) => this.lookUp(name)))
    this.makePolicy()
  }

  /** Applies a page after the snapshot has applied it. An exit with a host name adds no address. */
  apply(page: StatePage, position: PagePosition, snapshot: Pick<Snapshot, 'exits' | 'gateways'>): void {
    this.pageAt = page.now
    const proxy = speedOf(page.speed_mbit?.proxies)
    const subuser = speedOf(page.speed_mbit?.subusers)
    this.setSpeeds({ proxy, subuser }, this.speedShare)
    this.applyRanges(page, position)
    const isGraceChanged = page.grace !== undefined && JSON.stringify(page.grace) !== JSON.stringify(this.grace)
    if (isGraceChanged) this.grace = page.grace
    this.isListChanged ||=
      isGraceChanged || position.isWhole || [page.ranges, page.exits, page.gateways].some((part) => part.length > 0)
    if (page.mode === this.mode && !(this.isListChanged && position.isLast)) return
    this.mode = page.mode
    if (position.isLast) {
      this.exits = [...snapshot.exits.values()].flatMap(({ host }) => prefixesOf(host))
      this.setHosts(snapshot.gateways.values())
      this.isListChanged = false
    }
    void this.lookAround()
  }

  setSpeedShare(share: number): void {
    this.setSpeeds(this.wholeSpeeds, share)
  }

  /** Makes a new object only if a value changed: the engine sends it to its thread. */
  private setSpeeds(whole: WholeSpeeds, share: number): void {
    this.wholeSpeeds = whole
    this.speedShare = share
    const speeds = { proxy: whole.proxy * share, subuser: whole.subuser * share, share }
    if (!isDeepStrictEqual(speeds, this.speeds)) this.speeds = speeds
  }

  private makePolicy(): void {
    const machines = [...this.hosts].flatMap((host) => this.addressesOf.get(host) ?? prefixesOf(host))
    const policy = policyOf(this.config, this.mode, [...this.ranges.values(), ...this.exits, ...machines])
    const { grace } = this
    this.policy = grace ? { ...policy, grace: this.toGrace(grace) } : policy
  }

  /** All names whose addresses the policy needs. */
  private get names(): string[] {
    return [...new Set([...this.hosts, ...(this.grace?.hosts ?? []).map(({ host }) => host)])]
  }

  private toGrace({ hosts, resolvers }: NonNullable<StatePage['grace']>): Grace {
    const prefixesAt = (host: string) => this.addressesOf.get(host) ?? prefixesOf(host)
    return {
      hosts: hosts.map((each) => ({ ...each, prefixes: prefixesAt(each.host) })),
      resolvers: resolvers.flatMap(prefixesOf),
    }
  }

  /** A name that is not known now keeps the addresses that it last led to. */
  private async lookUp(name: string): Promise<void> {
    const found = await this.lookup(name).catch(() => undefined)
    if (found && this.names.includes(name)) this.addressesOf.set(name, found.flatMap(prefixesOf))
  }

  private setHosts(gateways: Iterable<{ readonly host: string }>): void {
    this.hosts = new Set([this.shopHost, ...Array.from(gateways, ({ host }) => host)])
    const names = new Set(this.names)
    for (const name of this.addressesOf.keys()) if (!names.has(name)) this.addressesOf.delete(name)
  }

  private applyRanges(page: StatePage, position: PagePosition): void {
    if (position.isFirst) this.unnamed = new Set(this.ranges.keys())
    for (const { id, prefix: text, gone } of page.ranges) {
      this.unnamed.delete(id)
      const prefix = readPrefix(text)
      if (gone || !prefix) this.ranges.delete(id)
      else this.ranges.set(id, prefix)
    }
    if (!position.isWhole || !position.isLast) return
    for (const id of this.unnamed) this.ranges.delete(id)
    this.unnamed.clear()
  }
}

/** An address as the prefix of it alone; nothing for a name. */
function prefixesOf(host: string): Prefix[] {
  const read = readAddress(host.split('%', 1)[0] ?? '')
  const base = read && unmap(read)
  return base ? [{ base, length: base.bytes.length * 8 }] : []
}
