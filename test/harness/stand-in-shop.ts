import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { joinBodySchema } from '../../src/node-protocol/join.ts'
import { type ReportAnswer, type ReportBody, reportBodySchema } from '../../src/node-protocol/report.ts'
import {
  type FindBody,
  type Found,
  findBodySchema,
  type StatePage,
  stateQuerySchema,
} from '../../src/node-protocol/state.ts'

/** How one request fails. `lost`: the shop processed it, and the answer was lost. */
export type Fault = { readonly status: number } | 'lost' | 'cut' | 'silent' | 'nonsense' | 'redirect'

export const emptyPage: StatePage = {
  cursor: 'c',
  more: false,
  now: 0,
  mode: 'sandbox',
  gateways: [],
  ranges: [],
  proxies: [],
  subusers: [],
  exits: [],
  peers: [],
}

/** A fake shop for nodes: real HTTP answers without a database, with a fault for each request that must fail. */
export async function openStandInShop() {
  const shop = {
    secret: '',
    /** Keys that are still valid, and the secrets joined with them. */
    keys: new Set<string>(),
    joined: new Map<string, string>(),
    faults: [] as Fault[],
    requests: [] as { path: string; authorization: string | null }[],
    reports: [] as ReportBody[],
    state: async (_cursor: string | undefined, _wait: number): Promise<StatePage | Fault> => emptyPage,
    find: (_body: FindBody): Found => ({ proxy: null, subuser: null }),
    report: (_body: ReportBody): ReportAnswer => ({ now: 0, replaced: false, allowances: [] }),
  }
  const server = createServer((request, response) => void serve(request, response))

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://shop')
    const authorization = request.headers.authorization ?? null
    shop.requests.push({ path: url.pathname, authorization })
    const fault = shop.faults.shift()
    const body: unknown = request.method === 'POST' ? await json(request) : undefined
    if (fault !== undefined && fault !== 'lost') return fail(response, fault)
    const isKnown = url.pathname === '/node/v1/join' || authorization === `Bearer ${shop.secret}`
    const answer = isKnown ? await answerTo(url.pathname, url.searchParams, body) : { status: 401 }
    if (fault === 'lost') return fail(response, 'cut')
    if (isFault(answer)) return fail(response, answer)
    send(response, 200, { ok: true, data: answer })
  }

  async function answerTo(path: string, query: URLSearchParams, body: unknown): Promise<unknown> {
    if (path === '/node/v1/join') return join(body)
    if (path === '/node/v1/find') return shop.find(findBodySchema.parse(body))
    if (path === '/node/v1/report') {
      const report = reportBodySchema.parse(body)
      shop.reports.push(report)
      return shop.report(report)
    }
    if (path === '/node/v1/state') {
      const { cursor, wait } = stateQuerySchema.parse(Object.fromEntries(query))
      return shop.state(cursor, wait ?? 0)
    }
    return { private_key: 'k', listen_port: 51_820, mtu: 1420, addresses: ['10.66.0.1/16'] }
  }

  /** A key is valid once; the same key with the same secret is the same join. */
  function join(body: unknown): unknown {
    const { key, secret } = joinBodySchema.parse(body)
    const earlier = shop.joined.get(key)
    if (!shop.keys.has(key) && earlier !== secret) return { status: 401 }
    shop.keys.delete(key)
    shop.joined.set(key, secret)
    shop.secret = secret
    return { node: `nod_${shop.joined.size}`, name: 'gw-1', kind: 'gateway' }
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const stop = () => {
    server.closeAllConnections()
    server.close()
  }
  return Object.assign(shop, { url: `http://127.0.0.1:${port}`, stop })
}

export type StandInShop = Awaited<ReturnType<typeof openStandInShop>>

const isFault = (answer: unknown): answer is { status: number } =>
  typeof answer === 'object' && answer !== null && Object.keys(answer).join() === 'status'

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

function fail(response: ServerResponse, fault: Exclude<Fault, 'lost'>): void {
  if (fault === 'silent') return
  if (fault === 'nonsense') return send(response, 200, { ok: true, data: { cursor: 7, secret: 'tpn_x' } })
  if (fault === 'redirect') return send(response, 307, {}, { location: 'http://192.0.2.1/elsewhere' })
  if (fault === 'cut') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
    response.write('{"ok":true,"da', () => response.socket?.destroy())
    return
  }
  const code = fault.status === 401 ? 'unauthorized' : 'a_code'
  send(response, fault.status, { ok: false, error: { code, message: 'm', details: null } })
}
