import type {
  FindBody,
  Found,
  NodeExit,
  NodeGateway,
  NodeProxy,
  NodeSubuser,
  StatePage,
} from '../../node-protocol/state.ts'

/** What a page changed, by the keys of open tunnels. */
export type Changed = {
  readonly proxies: readonly string[]
  readonly subusers: readonly string[]
  readonly exits: boolean
  readonly ports: boolean
  /** Ids of other gateways. */
  readonly gateways?: readonly string[]
}

/** The login or proxy of a customer port. */
export type PortMeaning = { readonly subuser: string; readonly login: string } | { readonly username: string }
type PendingLookup = { isOvertaken: boolean }
const portName = (port: number): string => `port ${port}`

/** The desired state as last received from the shop, indexed for lookup. */
export class Snapshot {
  private readonly proxyByName = new Map<string, NodeProxy>()
  private readonly subuserById = new Map<string, NodeSubuser>()
  private readonly logins = new Map<string, string>()
  private readonly portMeanings = new Map<number, PortMeaning>()
  private readonly exitById = new Map<string, NodeExit>()
  private readonly gatewayById = new Map<string, NodeGateway>()
  private byPool: Map<string, NodeExit[]> | undefined
  /** Lookups at the shop that are not answered yet, by login or port. */
  private readonly lookups = new Map<string, Set<PendingLookup>>()
  /** A lookup has changed ports; the next apply() reports it. */
  private learntPorts = false
  /** During a whole read: items not seen yet, dropped at the end. */
  private unnamed:
    | { proxies: Set<string>; subusers: Set<string>; exits: Set<string>; gateways: Set<string> }
    | undefined

  /** Removes items by username and id. */
  forget(
    usernames: readonly string[],
    ids: readonly string[],
    exitIds: readonly string[],
    gatewayIds: readonly string[] = [],
  ): Changed {
    let portsChanged = false
    for (const username of usernames) {
      this.overtakeProxy(username)
      portsChanged = this.dropEntry(username) !== null || portsChanged
      this.proxyByName.delete(username)
    }
    for (const id of ids) {
      this.overtakeSubuser(id)
      portsChanged = this.dropPorts(id) || portsChanged
      const login = this.subuserById.get(id)?.login
      if (login !== undefined) this.logins.delete(login)
      this.subuserById.delete(id)
    }
    for (const id of exitIds) this.exitById.delete(id)
    for (const id of gatewayIds) this.gatewayById.delete(id)
    this.byPool = undefined
    const exitsChanged = exitIds.length > 0
    return { proxies: usernames, subusers: ids, exits: exitsChanged, ports: portsChanged, gateways: gatewayIds }
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
    page: Pick<StatePage, 'proxies' | 'subusers' | 'exits'> & { readonly gateways?: readonly NodeGateway[] },
  ): Changed {
    for (const gateway of page.gateways ?? []) this.putGateway(gateway)
    this.overtakeNamed(page)
    const entriesChanged = page.proxies.map((each) => this.putProxy(each)).includes(true)
    const portsChanged = page.subusers.map((each) => this.putSubuser(each)).includes(true)
    this.overtakeNamed(page)
    for (const exit of page.exits) this.putExit(exit)
    if (page.exits.length > 0) this.byPool = undefined
    const isPortLearnt = this.learntPorts
    this.learntPorts = false
    return {
      proxies: page.proxies.map((each) => each.username),
      subusers: page.subusers.map((each) => each.id),
      exits: page.exits.length > 0,
      ports: entriesChanged || portsChanged || isPortLearnt,
      gateways: (page.gateways ?? []).map((each) => each.id),
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
    if (found.subuser && this.putSubuser(found.subuser)) this.learntPorts = true
  }

  /** Starts a whole read; known items stay until endWhole(). */
  beginWhole(): void {
    this.unnamed = {
      proxies: new Set(this.proxyByName.keys()),
      subusers: new Set(this.subuserById.keys()),
      exits: new Set(this.exitById.keys()),
      gateways: new Set(this.gatewayById.keys()),
    }
  }

  /** Removes items that the whole read did not name. */
  endWhole(): Changed {
    const left = this.unnamed
    this.unnamed = undefined
    return this.forget(
      [...(left?.proxies ?? [])],
      [...(left?.subusers ?? [])],
      [...(left?.exits ?? [])],
      [...(left?.gateways ?? [])],
    )
  }

  proxies(): Iterable<NodeProxy> {
    return this.proxyByName.values()
  }

  subusers(): Iterable<NodeSubuser> {
    return this.subuserById.values()
  }

  exits(): Iterable<NodeExit> {
    return this.exitById.values()
  }

  gateways(): Iterable<NodeGateway> {
    return this.gatewayById.values()
  }

  findGateway(id: string): NodeGateway | undefined {
    return this.gatewayById.get(id)
  }

  findProxy(username: string): NodeProxy | undefined {
    return this.proxyByName.get(username)
  }

  findSubuser(id: string): NodeSubuser | undefined {
    return this.subuserById.get(id)
  }

  findLogin(login: string): NodeSubuser | undefined {
    const id = this.logins.get(login)
    return id === undefined ? undefined : this.subuserById.get(id)
  }

  findPort(port: number): PortMeaning | undefined {
    return this.portMeanings.get(port)
  }

  ports(): Iterable<number> {
    return this.portMeanings.keys()
  }

  findExit(id: string): NodeExit | undefined {
    return this.exitById.get(id)
  }

  /** Exits of a pool. The same array until an exit changes, so callers can cache by identity. */
  exitsOf(pool: string): readonly NodeExit[] {
    this.byPool ??= Map.groupBy(this.exitById.values(), (exit) => exit.pool)
    return this.byPool.get(pool) ?? none
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

  private putExit(exit: NodeExit): void {
    this.unnamed?.exits.delete(exit.id)
    if (exit.drained) this.exitById.delete(exit.id)
    else this.exitById.set(exit.id, exit)
  }

  private putGateway(gateway: NodeGateway): void {
    this.unnamed?.gateways.delete(gateway.id)
    if (gateway.state === 'gone') this.gatewayById.delete(gateway.id)
    else this.gatewayById.set(gateway.id, gateway)
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

const none: readonly NodeExit[] = []
