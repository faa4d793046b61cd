import type { NodeSide, Position, StateRow } from '../../src/domains/fleet/index.ts'
import type { NodeKind } from '../../src/domains/fleet/rules.ts'
import type { ReportAnswer, ReportBody } from '../../src/node-protocol/report.ts'
import {
  type FindBody,
  type Found,
  foundSchema,
  type NodeExit,
  type NodePeer,
  type NodeProxy,
  type NodeRange,
  type NodeSubuser,
  type StatePage,
  type StatePart,
  type StateParts,
  statePageSchema,
} from '../../src/node-protocol/state.ts'
import type { Service } from './service.ts'

/** Any answer of the node protocol. */
export type NodeAnswer = {
  readonly status: number
  readonly text: string
  readonly headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly data: any
  readonly error: { readonly code: string; readonly message: string }
}

/** The state of a node after the pages it has read. */
export type Held = {
  readonly ranges: Map<number, NodeRange>
  readonly proxies: Map<number, NodeProxy>
  readonly subusers: Map<string, NodeSubuser>
  readonly exits: Map<string, NodeExit>
  readonly peers: Map<string, NodePeer>
}

/** A node as the shop sees it: requests over real sockets, and the state from its answers. */
export class TestNode {
  cursor: string | undefined
  readonly held: Held = {
    ranges: new Map(),
    proxies: new Map(),
    subusers: new Map(),
    exits: new Map(),
    peers: new Map(),
  }
  /** All answers, to be searched for secrets. */
  readonly texts: string[] = []

  constructor(
    readonly url: string,
    readonly secret: string,
    readonly name: string,
    readonly id: string,
  ) {}

  async ask(method: string, path: string, body?: unknown, secret: string | null = this.secret): Promise<NodeAnswer> {
    const answer = await askNode(this.url, method, path, body, secret)
    this.texts.push(answer.text)
    return answer
  }

  /** One page after the cursor. `applyPage` applies it. */
  async page(wait = 0, cursor = this.cursor): Promise<StatePage> {
    const query = new URLSearchParams({
      ...(cursor !== undefined && { cursor }),
      ...(wait > 0 && { wait: `${wait}` }),
    })
    const answer = await this.ask('GET', `state?${query.toString()}`)
    if (answer.status !== 200) throw new Error(`state was answered with ${answer.status}: ${answer.text}`)
    return statePageSchema.strict().parse(answer.data)
  }

  applyPage(page: StatePage): StatePage {
    for (const each of page.ranges) this.held.ranges.set(each.id, each)
    for (const each of page.proxies) this.held.proxies.set(each.id, each)
    for (const each of page.subusers) this.held.subusers.set(each.id, each)
    for (const each of page.exits) this.held.exits.set(each.id, each)
    for (const each of page.peers) this.held.peers.set(each.id, each)
    this.cursor = page.cursor
    return page
  }

  /** Reads until there is no more, and returns the number of items of each page. */
  async catchUp(): Promise<number[]> {
    const counts: number[] = []
    for (let pages = 0; pages < 1000; pages += 1) {
      const page = this.applyPage(await this.page())
      counts.push(countOf(page))
      if (!page.more) return counts
    }
    throw new Error('there is always more')
  }

  async find(body: FindBody): Promise<Found> {
    const answer = await this.ask('POST', 'find', body)
    if (answer.status !== 200) throw new Error(`find was answered with ${answer.status}: ${answer.text}`)
    return foundSchema.strict().parse(answer.data)
  }

  async report(body: Partial<ReportBody>): Promise<ReportAnswer> {
    const answer = await this.ask('POST', 'report', reportOf(body))
    if (answer.status !== 200) throw new Error(`report was answered with ${answer.status}: ${answer.text}`)
    return answer.data
  }
}

export const countOf = (page: StatePage): number =>
  page.ranges.length + page.proxies.length + page.subusers.length + page.exits.length + page.peers.length

export const reportOf = (body: Partial<ReportBody>): ReportBody => ({
  boot: '0boot-0001',
  version: '0.0.0',
  proxies: [],
  subusers: [],
  peers: [],
  lease_requests: [],
  hosts: [],
  sources: [],
  ...body,
})

export async function askNode(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  secret: string | null = null,
): Promise<NodeAnswer> {
  const response = await fetch(`${url}/node/v1/${path}`, {
    method,
    headers: {
      ...(secret !== null && { Authorization: `Bearer ${secret}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const content = JSON.parse(text) as { ok: boolean; data: unknown; error: NodeAnswer['error'] }
  if (content.ok !== (response.status === 200)) throw new Error(`"ok" and ${response.status} disagree: ${text}`)
  return { status: response.status, headers: response.headers, text, data: content.data, error: content.error }
}

export const makeSecret = (): string => `tpn_${crypto.getRandomValues(new Uint8Array(32)).toHex()}`

let made = 0

/** Adds a node to the shop and joins it over HTTP. */
export async function joinNode(
  service: Pick<Service, 'services' | 'clock' | 'url'>,
  kind: NodeKind = 'gateway',
  url = service.url,
): Promise<TestNode> {
  const { db, fleet } = service.services
  made += 1
  const name = `${kind}-${made}`
  await db.transact((tx) => fleet.add(tx, { kind, name, location: 'test' }))
  const { text } = await fleet.issueKey(name)
  // Many nodes of one test share an address, so the join limit must not count them as one guesser.
  service.clock.advance(6000)
  const secret = makeSecret()
  const joined = await askNode(url, 'POST', 'join', { key: text, secret, version: '0.0.0' })
  if (joined.status !== 200) throw new Error(`join was answered with ${joined.status}: ${joined.text}`)
  return new TestNode(url, secret, name, joined.data.node)
}

/**
 * All rows of one table that a product publishes to its nodes, page by page: changes since a time, or the current
 * state.
 */
export async function listNodeRows<Part extends StatePart>(
  side: NodeSide,
  name: Part,
  { since, limit = 1000 }: { readonly since?: number; readonly limit?: number } = {},
): Promise<StateRow<StateParts[Part]>[]> {
  const table = side.tables.find((each) => each.name === name)
  if (!table) throw new Error(`no node table is called ${name}`)
  const rows: StateRow<StateParts[Part]>[] = []
  for (let after: Position = { changedAt: since ?? 0, id: '' }; ; ) {
    const page = (await table.read(after, limit, since === undefined)) as readonly StateRow<StateParts[Part]>[]
    rows.push(...page)
    const last = page.at(-1)
    if (!last || page.length < limit) return rows
    after = last
  }
}
