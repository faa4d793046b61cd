import type { Bench, Context } from './context.ts'
import type { LoadResult } from './http-load.ts'
import { loadHttp } from './measure.ts'
import { type Row, rateRow, ratioRow, timeRow } from './report.ts'
import { type Engine, engineName, engines } from './stage.ts'
import { buyRequests, openStocked } from './stocked.ts'

const addresses = 262_144
const strangersPerSecond = 1000
const connections = 8
const warmUpSeconds = 2
/** The strangers begin this much before the purchases, and end as much after them. */
const marginSeconds = 1

/** One customer buys a proxy at a time, alone and beside strangers who open the public page. */
export const front: Bench = {
  name: 'front',
  about: `POST /dedicated/buy of one proxy, beside ${strangersPerSecond} requests of strangers a second for the public page`,
  async run(context) {
    const rows: Row[] = []
    for (const engine of engines) rows.push(...(await measureEngine(context, engine)))
    return rows
  },
}

/** Strangers of 20,000 networks, as a trusted proxy forwards them: the page has a limit for each network. */
function strangers(): string[] {
  const address = (index: number): string => `10.${1 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`
  return Array.from({ length: 20_000 }, (_, index) => {
    const language = index % 2 === 0 ? 'ru' : 'en'
    const headers = [`GET / HTTP/1.1`, 'Host: 127.0.0.1', `X-Forwarded-For: ${address(index)}`]
    return [...headers, `Accept-Language: ${language}`, 'Accept-Encoding: gzip, br', '', ''].join('\r\n')
  })
}

async function measureEngine({ stage, seconds, rounds, say }: Context, engine: Engine): Promise<Row[]> {
  const env = { TURNPIKE_FRONT: 'on', TURNPIKE_TRUSTED_PROXIES: '127.0.0.1/32' }
  const { shop, tokens } = await openStocked(stage, engine, addresses, say, env)
  const requests = buyRequests(tokens.slice(0, 1), 1)
  const buy = () => loadHttp({ port: shop.port, connections: 1, seconds, requests })
  const visits = strangers()
  await loadHttp({ port: shop.port, connections: 1, seconds: warmUpSeconds, requests })
  const alone: LoadResult[] = []
  const beside: LoadResult[] = []
  const visited: LoadResult[] = []
  for (let round = 0; round < rounds; round += 1) {
    alone.push(await buy())
    const visiting = loadHttp({
      port: shop.port,
      connections,
      seconds: seconds + 2 * marginSeconds,
      requests: visits,
      perSecond: strangersPerSecond,
    })
    await Bun.sleep(marginSeconds * 1000)
    beside.push(await buy())
    visited.push(await visiting)
    const [one, other] = [alone.at(-1)?.p50Ms ?? 0, beside.at(-1)?.p50Ms ?? 0]
    say(
      `  round ${round + 1}/${rounds}  ${engineName[engine]}: p50 ${one.toFixed(2)} ms, beside ${other.toFixed(2)} ms`,
    )
  }
  const name = engineName[engine]
  const p50 = (of: readonly LoadResult[]) => of.map((each) => each.p50Ms)
  const ratios = p50(beside).map((each, round) => each / (alone[round]?.p50Ms ?? Number.NaN))
  return [
    timeRow(`${name}, alone, p50`, p50(alone)),
    timeRow(`${name}, beside strangers, p50`, p50(beside)),
    ratioRow(`${name}, beside strangers, p50 against alone`, ratios, { max: 1.1 }),
    rateRow(
      `${name}, pages for strangers`,
      visited.map((each) => each.perSecond),
    ),
  ]
}
