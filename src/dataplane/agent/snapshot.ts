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
type Question = { isOvertaken: boolean }
const portName = (port: number): string => `port ${port}`

export type Snapshot = ReturnType<typeof createSnapshot>

/** The desired state as last received from the shop, indexed for lookup. */
export function createSnapshot() {
  const proxies = new Map<string, NodeProxy>()
  const subusers = new Map<string, NodeSubuser>()
  const logins = new Map<string, string>()
  const ports = new Map<number, PortMeaning>()
  const exits = new Map<string, NodeExit>()
  const gateways = new Map<string, NodeGateway>()
  let byPool: Map<string, NodeExit[]> | undefined
  /** Lookups under way, by login or port. */
  const questions = new Map<string, Set<Question>>()
  /** A lookup has changed ports; the next apply() reports it. */
  let learntPorts = false
  /** During a whole read: items not seen yet, dropped at the end. */
  let unnamed: { proxies: Set<string>; subusers: Set<string>; exits: Set<string>; gateways: Set<string> } | undefined

  /** Returns whether its port changed. */
  function putProxy(proxy: NodeProxy): boolean {
    unnamed?.proxies.delete(proxy.username)
    const had = dropEntry(proxy.username)
    if (proxy.state === 'gone') {
      proxies.delete(proxy.username)
      return had !== null
    }
    proxies.set(proxy.username, proxy)
    if (proxy.entry_port !== null) ports.set(proxy.entry_port, { username: proxy.username })
    return had !== proxy.entry_port
  }

  /** Returns the port it had. */
  function dropEntry(username: string): number | null {
    const port = proxies.get(username)?.entry_port ?? null
    const meaning = port === null ? undefined : ports.get(port)
    if (port !== null && meaning && 'username' in meaning && meaning.username === username) ports.delete(port)
    return port
  }

  function dropPorts(id: string): boolean {
    const known = subusers.get(id)?.ports ?? []
    for (const { port } of known) {
      const meaning = ports.get(port)
      if (meaning && 'subuser' in meaning && meaning.subuser === id) ports.delete(port)
    }
    return known.length > 0
  }

  /** Returns whether its ports changed. */
  function putSubuser(subuser: NodeSubuser): boolean {
    unnamed?.subusers.delete(subuser.id)
    const had = dropPorts(subuser.id)
    if (subuser.state === 'deleted') {
      subusers.delete(subuser.id)
      logins.delete(subuser.login)
      return had
    }
    subusers.set(subuser.id, subuser)
    logins.set(subuser.login, subuser.id)
    for (const { port, login } of subuser.ports) ports.set(port, { subuser: subuser.id, login })
    return had || subuser.ports.length > 0
  }

  function putExit(exit: NodeExit): void {
    unnamed?.exits.delete(exit.id)
    if (exit.drained) exits.delete(exit.id)
    else exits.set(exit.id, exit)
  }

  function putGateway(gateway: NodeGateway): void {
    unnamed?.gateways.delete(gateway.id)
    if (gateway.state === 'gone') gateways.delete(gateway.id)
    else gateways.set(gateway.id, gateway)
  }

  /** Marks lookups about a name as overtaken: their answer may be older than the page. */
  function overtake(name: string): void {
    for (const question of questions.get(name) ?? []) question.isOvertaken = true
  }

  function overtakeProxy(username: string): void {
    overtake(username)
    const port = proxies.get(username)?.entry_port ?? null
    if (port !== null) overtake(portName(port))
  }

  function overtakeSubuser(id: string): void {
    const known = subusers.get(id)
    if (known) overtake(known.login)
    for (const { port } of known?.ports ?? []) overtake(portName(port))
  }

  /** Called before and after a page is applied, for old and new names and ports. */
  function overtakeNamed(page: Pick<StatePage, 'proxies' | 'subusers'>): void {
    for (const { username } of page.proxies) overtakeProxy(username)
    for (const { id, login } of page.subusers) {
      overtake(login)
      overtakeSubuser(id)
    }
  }

  /** Removes items by username and id. */
  function forget(
    usernames: readonly string[],
    ids: readonly string[],
    exitIds: readonly string[],
    gatewayIds: readonly string[] = [],
  ): Changed {
    let portsChanged = false
    for (const username of usernames) {
      overtakeProxy(username)
      portsChanged = dropEntry(username) !== null || portsChanged
      proxies.delete(username)
    }
    for (const id of ids) {
      overtakeSubuser(id)
      portsChanged = dropPorts(id) || portsChanged
      const login = subusers.get(id)?.login
      if (login !== undefined) logins.delete(login)
      subusers.delete(id)
    }
    for (const id of exitIds) exits.delete(id)
    for (const id of gatewayIds) gateways.delete(id)
    byPool = undefined
    const exitsChanged = exitIds.length > 0
    return { proxies: usernames, subusers: ids, exits: exitsChanged, ports: portsChanged, gateways: gatewayIds }
  }

  function knownOf(about: FindBody): Found {
    const meaning = 'username' in about ? { username: about.username } : ports.get(about.port)
    const username = meaning && 'username' in meaning ? meaning.username : ''
    const id = meaning && 'subuser' in meaning ? meaning.subuser : logins.get(username)
    return { proxy: proxies.get(username) ?? null, subuser: (id !== undefined && subusers.get(id)) || null }
  }

  return {
    apply(
      page: Pick<StatePage, 'proxies' | 'subusers' | 'exits'> & { readonly gateways?: readonly NodeGateway[] },
    ): Changed {
      for (const gateway of page.gateways ?? []) putGateway(gateway)
      overtakeNamed(page)
      const entriesChanged = page.proxies.map(putProxy).includes(true)
      const portsChanged = page.subusers.map(putSubuser).includes(true)
      overtakeNamed(page)
      for (const exit of page.exits) putExit(exit)
      if (page.exits.length > 0) byPool = undefined
      const isPortLearnt = learntPorts
      learntPorts = false
      return {
        proxies: page.proxies.map((each) => each.username),
        subusers: page.subusers.map((each) => each.id),
        exits: page.exits.length > 0,
        ports: entriesChanged || portsChanged || isPortLearnt,
        gateways: (page.gateways ?? []).map((each) => each.id),
      }
    },

    /** Starts a lookup. The returned function ends it and tells whether a page has overtaken the answer. */
    follow(about: FindBody): () => boolean {
      const name = 'username' in about ? about.username : portName(about.port)
      const others = questions.get(name) ?? new Set<Question>()
      // Joins a running lookup, which may be overtaken already.
      const question = { isOvertaken: [...others].some((each) => each.isOvertaken) }
      questions.set(name, others.add(question))
      return () => {
        others.delete(question)
        if (others.size === 0) questions.delete(name)
        return question.isOvertaken
      }
    },

    knownOf,

    learn(found: Found): void {
      if (found.proxy && putProxy(found.proxy)) learntPorts = true
      if (found.subuser && putSubuser(found.subuser)) learntPorts = true
    },

    /** Starts a whole read; known items stay until endWhole(). */
    beginWhole(): void {
      unnamed = {
        proxies: new Set(proxies.keys()),
        subusers: new Set(subusers.keys()),
        exits: new Set(exits.keys()),
        gateways: new Set(gateways.keys()),
      }
    },

    /** Removes items that the whole read did not name. */
    endWhole(): Changed {
      const left = unnamed
      unnamed = undefined
      return forget(
        [...(left?.proxies ?? [])],
        [...(left?.subusers ?? [])],
        [...(left?.exits ?? [])],
        [...(left?.gateways ?? [])],
      )
    },

    forget,

    proxies: (): Iterable<NodeProxy> => proxies.values(),
    subusers: (): Iterable<NodeSubuser> => subusers.values(),
    exits: (): Iterable<NodeExit> => exits.values(),

    gateways: (): Iterable<NodeGateway> => gateways.values(),
    findGateway: (id: string): NodeGateway | undefined => gateways.get(id),

    findProxy: (username: string): NodeProxy | undefined => proxies.get(username),
    findSubuser: (id: string): NodeSubuser | undefined => subusers.get(id),
    findLogin(login: string): NodeSubuser | undefined {
      const id = logins.get(login)
      return id === undefined ? undefined : subusers.get(id)
    },
    findPort: (port: number): PortMeaning | undefined => ports.get(port),
    ports: (): Iterable<number> => ports.keys(),
    findExit: (id: string): NodeExit | undefined => exits.get(id),

    /** Exits of a pool. The same array until an exit changes, so callers can cache by identity. */
    exitsOf(pool: string): readonly NodeExit[] {
      byPool ??= Map.groupBy(exits.values(), (exit) => exit.pool)
      return byPool.get(pool) ?? none
    },
  }
}

const none: readonly NodeExit[] = []
