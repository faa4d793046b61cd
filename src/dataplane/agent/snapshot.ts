import { loginOfExit } from '../../core/device-exits.ts'
import { pathOfDevice } from '../../core/device-path.ts'
import type { GatewayProtocol } from '../../core/vpn-protocols.ts'
import type { VanishedItem } from '../../node-protocol/report.ts'
import type {
  FindBody,
  Found,
  NodeDevice,
  NodeExit,
  NodeGateway,
  NodeProxy,
  NodeSubuser,
  StatePage,
} from '../../node-protocol/state.ts'
import { digestsOfExit } from './exit-keys.ts'

/** What a page changed, by the keys of open tunnels. */
export type Changed = {
  readonly proxies: readonly string[]
  readonly subusers: readonly string[]
  readonly exits: boolean
  readonly ports: boolean
  readonly gateways?: readonly string[]
  readonly devices?: readonly string[]
}

/** The login or proxy of a customer port. */
export type PortMeaning = { readonly subuser: string; readonly login: string } | { readonly username: string }
type ItemKind = 'proxies' | 'subusers' | 'exits' | 'gateways' | 'devices'
/** A protocol whose clients present a key without a user name. */
export type KeyProtocol = 'vless' | 'trojan'
/** Usernames of proxies and ids of other items. */
export type GoneItems = Partial<Record<ItemKind, Iterable<string>>>
type PendingLookup = { isOvertaken: boolean }
const portName = (port: number): string => `port ${port}`
const keyProtocols: readonly KeyProtocol[] = ['vless', 'trojan']
type DeviceDigests = Pick<NodeDevice, KeyProtocol | 'password'>
/** A device by a key, and the exit that the key names: another gateway whose customers enter here. */
export type FoundDevice = {
  readonly device: NodeDevice
  readonly exit: string | undefined
  /** The digest of its password for an HTTP proxy. */
  readonly password: string
}
/** Names of a device in the index: its keys, and its path. */
const namesOf = (digests: DeviceDigests): string[] => [
  ...keyProtocols.map((protocol) => `${protocol} ${digests[protocol]}`),
  `path ${pathOfDevice(digests.vless)}`,
]
const loginName = (username: string): string => `login ${username}`
const noExits: readonly NodeExit[] = []

/** The desired state as last received from the shop, indexed for lookup. */
export class Snapshot {
  private readonly proxyByName = new Map<string, NodeProxy>()
  readonly proxies: ReadonlyMap<string, NodeProxy> = this.proxyByName
  private readonly subuserById = new Map<string, NodeSubuser>()
  readonly subusers: ReadonlyMap<string, NodeSubuser> = this.subuserById
  private readonly logins = new Map<string, string>()
  private readonly portMeanings = new Map<number, PortMeaning>()
  readonly ports: ReadonlyMap<number, PortMeaning> = this.portMeanings
  private readonly exitById = new Map<string, NodeExit>()
  readonly exits: ReadonlyMap<string, NodeExit> = this.exitById
  private readonly gatewayById = new Map<string, NodeGateway>()
  readonly gateways: ReadonlyMap<string, NodeGateway> = this.gatewayById
  private readonly deviceById = new Map<string, NodeDevice>()
  readonly devices: ReadonlyMap<string, NodeDevice> = this.deviceById
  /** Devices by the protocol and the digest of the key that a client presents, and by their paths and logins. */
  private readonly deviceKeys = new Map<string, FoundDevice>()
  /** The names of each device in that index. */
  private readonly deviceNames = new Map<string, string[]>()
  /** The gateways whose customers enter here, in order. */
  private exitsBehind: readonly string[] = []
  private byPool: Map<string, NodeExit[]> | undefined
  /** Lookups at the shop that are not answered yet, by login or port. */
  private readonly lookups = new Map<string, Set<PendingLookup>>()
  /** A lookup has changed ports; the next apply() reports it. */
  private learntPorts = false
  /** During a whole read: items not seen yet, dropped at the end. */
  private unnamed: Record<ItemKind, Set<string>> | undefined

  /** `self`: the id of this gateway. */
  constructor(private readonly self = '') {}

  /** Whether this gateway serves a protocol to VPN devices. */
  isOn(protocol: GatewayProtocol): boolean {
    return this.gatewayById.get(this.self)?.vpn_protocols?.includes(protocol) ?? true
  }

  forget({ proxies = [], subusers = [], exits = [], gateways = [], devices = [] }: GoneItems): Changed {
    const changed = { proxies: [...proxies], subusers: [...subusers], gateways: [...gateways] }
    const goneDevices = [...devices]
    const exitIds = [...exits]
    let portsChanged = false
    for (const username of changed.proxies) {
      this.overtakeProxy(username)
      portsChanged = this.dropEntry(username) !== null || portsChanged
      this.proxyByName.delete(username)
    }
    for (const id of changed.subusers) {
      this.overtakeSubuser(id)
      portsChanged = this.dropPorts(id) || portsChanged
      const login = this.subuserById.get(id)?.login
      if (login !== undefined) this.logins.delete(login)
      this.subuserById.delete(id)
    }
    for (const id of exitIds) this.exitById.delete(id)
    for (const id of changed.gateways) this.gatewayById.delete(id)
    this.followExits()
    for (const id of goneDevices) this.dropDevice(id)
    this.byPool = undefined
    const base = { ...changed, exits: exitIds.length > 0, ports: portsChanged }
    return goneDevices.length > 0 ? { ...base, devices: goneDevices } : base
  }

  knownOf(about: FindBody): Found {
    const meaning = 'username' in about ? { username: about.username } : this.portMeanings.get(about.port)
    const username = meaning && 'username' in meaning ? meaning.username : ''
    const id = meaning && 'subuser' in meaning ? meaning.subuser : this.logins.get(username)
    return {
      proxy: this.proxyByName.get(username) ?? null,
      subuser: (id !== undefined && this.subuserById.get(id)) || null,
    }
  }

  apply(
    page: Pick<StatePage, 'proxies' | 'subusers' | 'exits' | 'devices'> & {
      readonly gateways?: readonly NodeGateway[]
    },
  ): Changed {
    for (const gateway of page.gateways ?? []) {
      this.unnamed?.gateways.delete(gateway.id)
      if (gateway.state === 'gone') this.gatewayById.delete(gateway.id)
      else this.gatewayById.set(gateway.id, gateway)
    }
    this.followExits()
    for (const device of page.devices ?? []) this.putDevice(device)
    this.overtakeNamed(page)
    const entriesChanged = page.proxies.map((each) => this.putProxy(each)).includes(true)
    const portsChanged = page.subusers.map((each) => this.putSubuser(each)).includes(true)
    this.overtakeNamed(page)
    for (const exit of page.exits) {
      this.unnamed?.exits.delete(exit.id)
      if (exit.drained) this.exitById.delete(exit.id)
      else this.exitById.set(exit.id, exit)
    }
    if (page.exits.length > 0) this.byPool = undefined
    const isPortLearnt = this.learntPorts
    this.learntPorts = false
    return {
      proxies: page.proxies.map((each) => each.username),
      subusers: page.subusers.map((each) => each.id),
      exits: page.exits.length > 0,
      ports: entriesChanged || portsChanged || isPortLearnt,
      gateways: (page.gateways ?? []).map((each) => each.id),
      ...(page.devices && { devices: page.devices.map((each) => each.id) }),
    }
  }

  /** Registers a lookup. The returned function ends it and returns whether a page has overtaken the answer. */
  follow(about: FindBody): () => boolean {
    const name = 'username' in about ? about.username : portName(about.port)
    const others = this.lookups.get(name) ?? new Set<PendingLookup>()
    // A lookup that joins a running one shares its answer, which a page may have overtaken.
    const lookup = { isOvertaken: [...others].some((each) => each.isOvertaken) }
    this.lookups.set(name, others.add(lookup))
    return () => {
      others.delete(lookup)
      if (others.size === 0) this.lookups.delete(name)
      return lookup.isOvertaken
    }
  }

  learn(found: Found): void {
    if (found.proxy && this.putProxy(found.proxy)) this.learntPorts = true
    // Only its name and digest count from here on. Its port may belong to another customer.
    if (found.proxy?.state === 'gone') {
      this.proxyByName.set(found.proxy.username, { ...found.proxy, sources: [], entry_port: null })
    }
    if (found.subuser && this.putSubuser(found.subuser)) this.learntPorts = true
  }

  /** Starts a whole read; known items stay until endWhole(). */
  beginWhole(): void {
    this.unnamed = {
      proxies: new Set(this.proxyByName.keys()),
      subusers: new Set(this.subuserById.keys()),
      exits: new Set(this.exitById.keys()),
      gateways: new Set(this.gatewayById.keys()),
      devices: new Set(this.deviceById.keys()),
    }
  }

  /** Items that the whole read has not named yet; at its end, those that endWhole() removes. */
  listUnnamed(): VanishedItem[] {
    const proxies = [...(this.unnamed?.proxies ?? [])].flatMap((name) => this.proxyByName.get(name) ?? [])
    const subusers = [...(this.unnamed?.subusers ?? [])].flatMap((id) => this.subuserById.get(id) ?? [])
    return [
      ...proxies
        .filter(({ state }) => state !== 'gone')
        .map(({ id, username, leave_from: address, owner }) => {
          return { kind: 'proxy' as const, id: String(id), login: username, address, owner }
        }),
      ...subusers.map(({ id, login, owner }) => ({ kind: 'subuser' as const, id, login, address: '', owner })),
    ]
  }

  /** Removes items that the whole read did not name. */
  endWhole(): Changed {
    const left = this.unnamed
    this.unnamed = undefined
    return this.forget(left ?? {})
  }

  findLogin(login: string): NodeSubuser | undefined {
    const id = this.logins.get(login)
    return id === undefined ? undefined : this.subuserById.get(id)
  }

  /** The device with this digest of a key. */
  findDevice(protocol: KeyProtocol, digest: string): FoundDevice | undefined {
    return this.deviceKeys.get(`${protocol} ${digest}`)
  }

  /** The device whose requests have this path. */
  findDeviceOfPath(path: string): FoundDevice | undefined {
    return this.deviceKeys.get(`path ${path}`)
  }

  /** The device with this user name at an HTTP proxy. */
  findDeviceOfLogin(username: string): FoundDevice | undefined {
    return this.deviceKeys.get(loginName(username))
  }

  /** Whether the customers of another gateway enter here. */
  isExitBehind(gateway: string): boolean {
    return this.exitsBehind.includes(gateway)
  }

  /** Devices have a key for each exit. */
  private followExits(): void {
    const exits = [...this.gatewayById.values()].filter(({ id, entry }) => entry === this.self && id !== this.self)
    const ids = exits.map(({ id }) => id).toSorted()
    if (ids.join() === this.exitsBehind.join()) return
    this.exitsBehind = ids
    for (const device of this.deviceById.values()) this.nameDevice(device)
  }

  /** Exits of a pool. The same array until an exit changes, so callers can cache by identity. */
  exitsOf(pool: string): readonly NodeExit[] {
    this.byPool ??= Map.groupBy(this.exitById.values(), (exit) => exit.pool)
    return this.byPool.get(pool) ?? noExits
  }

  private putDevice(device: NodeDevice): void {
    this.unnamed?.devices.delete(device.id)
    if (device.state === 'gone') return this.dropDevice(device.id)
    this.deviceById.set(device.id, device)
    this.nameDevice(device)
  }

  private dropDevice(id: string): void {
    this.deviceById.delete(id)
    this.forgetNames(id)
  }

  private forgetNames(id: string): void {
    for (const name of this.deviceNames.get(id) ?? []) this.deviceKeys.delete(name)
    this.deviceNames.delete(id)
  }

  private nameDevice(device: NodeDevice): void {
    this.forgetNames(device.id)
    const names: string[] = []
    const put = (login: string, digests: DeviceDigests, exit: string | undefined): void => {
      const found = { device, exit, password: digests.password }
      for (const name of [...namesOf(digests), loginName(login)]) {
        this.deviceKeys.set(name, found)
        names.push(name)
      }
    }
    put(device.id, device, undefined)
    const { exit_secret: secret } = device
    if (secret)
      for (const exit of this.exitsBehind) put(loginOfExit(device.id, exit), digestsOfExit(secret, exit), exit)
    this.deviceNames.set(device.id, names)
  }

  /** Returns whether its port changed. */
  private putProxy(proxy: NodeProxy): boolean {
    this.unnamed?.proxies.delete(proxy.username)
    const had = this.dropEntry(proxy.username)
    if (proxy.state === 'gone') {
      this.proxyByName.delete(proxy.username)
      return had !== null
    }
    this.proxyByName.set(proxy.username, proxy)
    if (proxy.entry_port !== null) this.portMeanings.set(proxy.entry_port, { username: proxy.username })
    return had !== proxy.entry_port
  }

  /** Returns the port it had. */
  private dropEntry(username: string): number | null {
    const port = this.proxyByName.get(username)?.entry_port ?? null
    const meaning = port === null ? undefined : this.portMeanings.get(port)
    if (port !== null && meaning && 'username' in meaning && meaning.username === username)
      this.portMeanings.delete(port)
    return port
  }

  private dropPorts(id: string): boolean {
    const known = this.subuserById.get(id)?.ports ?? []
    for (const { port } of known) {
      const meaning = this.portMeanings.get(port)
      if (meaning && 'subuser' in meaning && meaning.subuser === id) this.portMeanings.delete(port)
    }
    return known.length > 0
  }

  /** Returns whether its ports changed. */
  private putSubuser(subuser: NodeSubuser): boolean {
    this.unnamed?.subusers.delete(subuser.id)
    const had = this.dropPorts(subuser.id)
    if (subuser.state === 'deleted') {
      this.subuserById.delete(subuser.id)
      this.logins.delete(subuser.login)
      return had
    }
    this.subuserById.set(subuser.id, subuser)
    this.logins.set(subuser.login, subuser.id)
    for (const { port, login } of subuser.ports) this.portMeanings.set(port, { subuser: subuser.id, login })
    return had || subuser.ports.length > 0
  }

  /** Marks lookups about a name as overtaken: their answer may be older than the page. */
  private overtake(name: string): void {
    for (const lookup of this.lookups.get(name) ?? []) lookup.isOvertaken = true
  }

  private overtakeProxy(username: string): void {
    this.overtake(username)
    const port = this.proxyByName.get(username)?.entry_port ?? null
    if (port !== null) this.overtake(portName(port))
  }

  private overtakeSubuser(id: string): void {
    const known = this.subuserById.get(id)
    if (known) this.overtake(known.login)
    for (const { port } of known?.ports ?? []) this.overtake(portName(port))
  }

  /** Called before and after a page is applied, for old and new names and ports. */
  private overtakeNamed(page: Pick<StatePage, 'proxies' | 'subusers'>): void {
    for (const { username } of page.proxies) this.overtakeProxy(username)
    for (const { id, login } of page.subusers) {
      this.overtake(login)
      this.overtakeSubuser(id)
    }
  }
}
