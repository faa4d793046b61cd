import type { Bench, Context } from './context.ts'
import { alternate, loadHttp, type Peer, type Sample, toRequest } from './measure.ts'
import { rateRow, timeRow } from './report.ts'
import { type Engine, engineName, engines } from './stage.ts'

const connections = 32
const warmUpSeconds = 2
const token = 'bench-token-of-the-sandbox'

/** The cheapest and most frequent request of customers. */
export const balance: Bench = {
  name: 'balance',
  about: `GET /balance over HTTP, ${connections} connections kept open`,
  async run(context) {
    const peers: Peer[] = []
    for (const engine of engines) peers.push(await openBalance(context, engine))
    const rounds = await alternate(peers, context.rounds, context.say)
    return engines.flatMap((engine) => {
      const samples = rounds.get(engineName[engine]) ?? []
      // PostgreSQL is measured for comparison: the target applies to the shop as shipped.
      const isShipped = engine === 'sqlite'
      return [
        rateRow(
          engineName[engine],
          samples.map((sample) => sample.perSecond),
          isShipped ? { min: 15_000 } : undefined,
        ),
        timeRow(`${engineName[engine]}, p50`, timesOf(samples, 'p50Ms')),
        timeRow(`${engineName[engine]}, p99`, timesOf(samples, 'p99Ms'), isShipped ? 10 : undefined),
      ]
    })
  },
}

const timesOf = (samples: readonly Sample[], name: 'p50Ms' | 'p99Ms'): number[] =>
  samples.map((sample) => sample[name] ?? Number.NaN)

async function openBalance({ stage, seconds }: Context, engine: Engine): Promise<Peer> {
  const database = await stage.makeDatabase(engine)
  const shop = await stage.startShop(database, { TURNPIKE_SANDBOX_TOKEN: token })
  const measure = (forSeconds: number): Promise<Sample> =>
    Bun.which('wrk') === null ? withOwnLoad(shop.port, forSeconds) : withWrk(shop.port, forSeconds)
  await measure(warmUpSeconds)
  return { name: engineName[engine], measure: () => measure(seconds) }
}

const withOwnLoad = (port: number, seconds: number): Promise<Sample> =>
  loadHttp({ port, connections, seconds, requests: [toRequest({ method: 'GET', path: '/balance', token })] })

/** wrk uses less processor time than a generator in TypeScript, and leaves it to the shop. */
async function withWrk(port: number, seconds: number): Promise<Sample> {
  const flags = ['--threads', '1', '--connections', String(connections), '--duration', `${seconds}s`, '--latency']
  const url = `http://127.0.0.1:${port}/api/v1/balance`
  const child = Bun.spawn(['wrk', ...flags, '--header', `Authorization: Bearer ${token}`, url], { stdout: 'pipe' })
  const text = await child.stdout.text()
  const perSecond = /^Requests\/sec:\s+([\d.]+)/m.exec(text)?.[1]
  if ((await child.exited) !== 0 || perSecond === undefined || /Non-2xx|Socket errors/.test(text)) {
    throw new Error(`wrk failed:\n${text}`)
  }
  return { perSecond: Number(perSecond), p50Ms: readLatency(text, '50%'), p99Ms: readLatency(text, '99%') }
}

/** `    99%    4.51ms`, with the unit that wrk chose. */
function readLatency(text: string, part: string): number {
  const [, value, unit] = new RegExp(`^\\s+${part}\\s+([\\d.]+)(us|ms|s)$`, 'm').exec(text) ?? []
  const inMs = { us: 0.001, ms: 1, s: 1000 }[unit ?? ''] ?? Number.NaN
  return Number(value) * inMs
}
