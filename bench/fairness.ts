import type { Bench, Context } from './context.ts'
import type { LoadResult } from './http-load.ts'
import { loadHttp, toRequest } from './measure.ts'
import { type Row, ratioRow, timeRow } from './report.ts'
import { type Engine, engineName, engines } from './stage.ts'
import { buyRequests, openStocked } from './stocked.ts'

const addresses = 262_144
const connections = 4
const warmUpSeconds = 2
/** The bulk work begins this much before the purchases, and ends as much after them. */
const marginSeconds = 1

/** One customer buys a proxy at a time, alone and beside another customer's bulk work. */
export const fairness: Bench = {
  name: 'fairness',
  about: `POST /dedicated/buy of one proxy, beside bulk work of another customer over ${connections} connections`,
  async run(context) {
    const rows: Row[] = []
    for (const engine of engines) rows.push(...(await measureEngine(context, engine)))
    return rows
  },
}

async function measureEngine({ stage, seconds, rounds, say }: Context, engine: Engine): Promise<Row[]> {
  const { shop, tokens } = await openStocked(stage, engine, addresses, say, { TURNPIKE_RATE_CHANGES: '0' })
  const [bulkToken = '', otherToken = ''] = tokens
  const buyOne = buyRequests([otherToken], 1)
  const buy = () => loadHttp({ port: shop.port, connections: 1, seconds, requests: buyOne })
  const kinds = bulkRequests(bulkToken, await buyThousands(shop.port, bulkToken, 2))
  await loadHttp({ port: shop.port, connections: 1, seconds: warmUpSeconds, requests: buyOne })
  const alone: LoadResult[] = []
  const beside = new Map(Object.keys(kinds).map((kind): [string, LoadResult[]] => [kind, []]))
  for (let round = 0; round < rounds; round += 1) {
    const before = await buy()
    alone.push(before)
    for (const [kind, requests] of Object.entries(kinds)) {
      const bulk = loadHttp({ port: shop.port, connections, seconds: seconds + 2 * marginSeconds, requests })
      await Bun.sleep(marginSeconds * 1000)
      const sample = await buy()
      await bulk
      beside.get(kind)?.push(sample)
      say(
        `  round ${round + 1}/${rounds}  ${engineName[engine]}, beside ${kind}: ${timesText(sample)}; alone: ${timesText(before)}`,
      )
    }
  }
  const ratios = (part: 'p50Ms' | 'p99Ms', samples: readonly LoadResult[]) =>
    samples.map((sample, round) => sample[part] / (alone[round]?.[part] ?? Number.NaN))
  const name = engineName[engine]
  return [
    timeRow(
      `${name}, alone, p50`,
      alone.map((each) => each.p50Ms),
    ),
    timeRow(
      `${name}, alone, p99`,
      alone.map((each) => each.p99Ms),
    ),
    ...[...beside].flatMap(([kind, samples]) => [
      ratioRow(`${name}, beside ${kind}, p50 against alone`, ratios('p50Ms', samples), { max: 3 }),
      ratioRow(`${name}, beside ${kind}, p99 against alone`, ratios('p99Ms', samples)),
      timeRow(
        `${name}, beside ${kind}, p99`,
        samples.map((each) => each.p99Ms),
      ),
    ]),
  ]
}

const timesText = ({ p50Ms, p99Ms }: LoadResult): string => `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`

/** The ids of the last thousand of so many thousand bought proxies. */
async function buyThousands(port: number, token: string, thousands: number): Promise<number[]> {
  await loadHttp({ port, connections: 1, count: thousands, requests: buyRequests([token], 1000) })
  const ids: number[] = []
  for (let cursor = ''; ids.length < 1000; ) {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/dedicated/list?limit=500${cursor}`, {
      headers: { Authorization: `Bearer ${token}` },
    })
    const { data } = (await answer.json()) as { data: { proxies: { id: number }[]; next_cursor: string } }
    ids.push(...data.proxies.map(({ id }) => id))
    cursor = `&cursor=${data.next_cursor}`
  }
  return ids
}

/** Each kind of bulk work, as requests that are sent in turn. */
function bulkRequests(token: string, ids: readonly number[]): Record<string, string[]> {
  const post = (path: string, fields: object) =>
    toRequest({ method: 'POST', path: `/dedicated/${path}`, token, body: { ids, ...fields } })
  const get = (path: string) => toRequest({ method: 'GET', path, token })
  return {
    'bulk changes': [
      ...['http', 'socks'].map((port_type) => post('protocol', { port_type })),
      ...['one', 'two'].map((comment) => post('comment', { comment })),
      post('password/reset', {}),
      ...[30, null].map((period) => post('auto-renew', { period })),
    ],
    'bulk purchases': [post('prolong', { period: 3 }), ...buyRequests([token], 1000)],
    'long lists': [
      get('/dedicated/list?limit=500'),
      get('/dedicated/export?format=json'),
      get('/dedicated/export?format=txt'),
      get('/orders?limit=500'),
      post('prolong/quote', { period: 3 }),
    ],
  }
}
