import { joinBodySchema } from '../../src/wire/node/join.ts'
import { type ReportAnswer, type ReportBody, reportBodySchema } from '../../src/wire/node/report.ts'
import {
  type FindBody,
  type Found,
  findBodySchema,
  type StatePage,
  stateQuerySchema,
} from '../../src/wire/node/state.ts'

/** How one request goes wrong. `lost`: the shop did it, and the answer never came. */
export type Fault = { readonly status: number } | 'lost' | 'cut' | 'silent' | 'nonsense' | 'redirect'

export const emptyPage: StatePage = {
  cursor: 'c',
  more: false,
  now: 0,
  mode: 'sandbox',
  proxies: [],
  subusers: [],
  exits: [],
  peers: [],
}

/** What a shop says to nodes, as the wire has it, with a fault for each request that is to go wrong. No books behind it. */
export function openStandInShop() {
  const shop = {
    secret: '',
    /** Keys that are still good, and what was joined with them. */
    keys: new Set<string>(),
    joined: new Map<string, string>(),
    faults: [] as Fault[],
    requests: [] as { path: string; authorization: string | null }[],
    reports: [] as ReportBody[],
    state: async (_cursor: string | undefined, _wait: number): Promise<StatePage | Fault> => emptyPage,
    find: (_body: FindBody): Found => ({ proxy: null, subuser: null }),
    report: (_body: ReportBody): ReportAnswer => ({ now: 0, replaced: false, allowances: [] }),
  }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    // A cut answer is meant; nothing is printed of it.
    error: () => new Response(null, { status: 500 }),
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      const authorization = request.headers.get('authorization')
      shop.requests.push({ path: pathname, authorization })
      const fault = shop.faults.shift()
      if (fault !== undefined && fault !== 'lost') return toFault(fault)
      const body: unknown = request.method === 'POST' ? await request.json() : undefined
      const isKnown = pathname === '/node/v1/join' || authorization === `Bearer ${shop.secret}`
      const answer = isKnown ? await answerTo(pathname, searchParams, body) : { status: 401 }
      if (fault === 'lost') return toFault('cut')
      return isFault(answer) ? toFault(answer) : Response.json({ ok: true, data: answer })
    },
  })

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

  /** A key is good once; the same key with the same secret is the same joining. */
  function join(body: unknown): unknown {
    const { key, secret } = joinBodySchema.parse(body)
    const earlier = shop.joined.get(key)
    if (!shop.keys.has(key) && earlier !== secret) return { status: 401 }
    shop.keys.delete(key)
    shop.joined.set(key, secret)
    shop.secret = secret
    return { node: `nod_${shop.joined.size}`, name: 'gw-1', kind: 'gateway' }
  }

  return Object.assign(shop, { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) })
}

export type StandInShop = ReturnType<typeof openStandInShop>

const isFault = (answer: unknown): answer is { status: number } =>
  typeof answer === 'object' && answer !== null && Object.keys(answer).join() === 'status'

function toFault(fault: Exclude<Fault, 'lost'>): Response | Promise<Response> {
  if (fault === 'silent') return new Promise<Response>(() => {})
  if (fault === 'nonsense') return Response.json({ ok: true, data: { cursor: 7, secret: 'tpn_x' } })
  if (fault === 'redirect') return Response.redirect('http://192.0.2.1/elsewhere', 307)
  if (fault === 'cut') {
    const half = new ReadableStream({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode('{"ok":true,"da'))
        await Bun.sleep(5)
        controller.error(new Error('cut'))
      },
    })
    return new Response(half, { headers: { 'content-type': 'application/json' } })
  }
  const code = fault.status === 401 ? 'unauthorized' : 'a_code'
  return Response.json({ ok: false, error: { code, message: 'm', details: null } }, { status: fault.status })
}
