import { slopeOf } from '../test/harness/least-squares.ts'
import type { Bench, Context } from './context.ts'
import { type GatewayShop, routeOf, startGatewayShop, untilItWorks } from './gateway-shop.ts'
import { descriptorsOf, familyMb } from './process-cost.ts'
import { amountRow, type Row } from './report.ts'
import { behaveRoughly, type Rough } from './rough.ts'
import { openTunnels, type Route, type Tunnels } from './tunnels.ts'

const idleTunnels = 2_000
/** New tunnels at full rate. */
const churn = { tunnels: 64, bytes: 1_024 }
const warmUpSeconds = 10
const sampleMs = 5_000
/** Memory of the first minute is kept for good: compiled code, pools, caches. */
const notCountedMs = 60_000
const maxSlopeMb = 1
/** Both ends of the pipes that a gateway pools. */
const maxPipeEnds = 400
/** The time limit for released descriptors and for reported counts. */
const givenBackWithinMs = 40_000
const pollMs = 100
const gigabytesOfMinute = 20

type Reading = { readonly atMs: number; readonly mb: number; readonly descriptors: number; readonly pipes: number }
type Routes = { readonly plain: Route; readonly metered: Route }

/**
 * Checks whether the gateway leaks memory or descriptors, and whether it bills exactly the relayed bytes. Many tunnels
 * are idle, others open and close at full rate, and metered customers close, stall and reset, for minutes.
 * TURNPIKE_GATEWAY_ENGINE selects the engine.
 */
export const soak: Bench = {
  name: 'soak',
  about: `${idleTunnels} idle tunnels, new ones as fast as they go, and customers who stall, half-close and reset, for --minutes`,
  async run(context) {
    const tunnels = await openTunnels(context.stage)
    if (!tunnels) {
      context.say('  NOTHING IS MEASURED: there is no C compiler to build the load with (apt-get install gcc)')
      return [{ what: 'everything', figure: 'not measured: no C compiler', rounds: [] }]
    }
    const shop = await startGatewayShop(context.stage)
    const plain = routeOf(await shop.buyProxy(), 'connect')
    const metered = await shop.buyMeteredRoute(gigabytesOfMinute * (context.minutes + 1))
    await untilItWorks(tunnels, [plain])
    return soakThrough(context, shop, tunnels, { plain, metered })
  },
}

async function soakThrough(context: Context, shop: GatewayShop, tunnels: Tunnels, routes: Routes): Promise<Row[]> {
  const { plain: route, metered } = routes
  const seed = Math.floor(Math.random() * 2 ** 31)
  context.say(`  the seed is ${seed}`)
  await tunnels.run({ route, ...churn, seconds: warmUpSeconds })
  const first = await behaveRoughly(metered, warmUpSeconds, seed)
  const before = await waitForFewest(shop, 0)
  const seconds = context.minutes * 60
  const held = await tunnels.hold({ route, tunnels: idleTunnels, bytes: churn.bytes, seconds: seconds + 120 })
  const churning = tunnels.run({ route, ...churn, seconds })
  const behaving = behaveRoughly(metered, seconds, seed + 1000)
  const readings = await watch(context, shop, seconds)
  const churned = await churning
  const rough = await behaving
  const alive = await held.release()
  const after = await waitForFewest(shop, before)
  const errors = [
    ...Array.from({ length: churned.errors }, () => churned.firstError),
    ...Array.from({ length: idleTunnels - alive.tunnels }, () => `an idle tunnel was lost: ${alive.firstError}`),
    ...rough.errors,
  ]
  for (const error of errors.slice(0, 3)) context.say(`  error: ${error}`)
  return [
    amountRow('tunnels carried beside the idle ones', [churned.tunnels], '', 0),
    amountRow('transfers of customers who pay by the byte', [rough.transfers], '', 0),
    { ...amountRow('errors', [errors.length], '', 0), target: 'none', met: errors.length === 0 },
    await billedRow(shop, [first, rough]),
    slopeRow(readings),
    lowestRow(readings),
    amountRow(
      'memory of the gateway',
      readings.map(({ mb }) => mb),
      ' MB',
    ),
    {
      what: 'descriptors of the gateway before and after',
      figure: `${before} and ${after}`,
      target: 'no more than before',
      met: after <= before,
      rounds: [before, after],
    },
    pipesRow(readings),
  ]
}

/** The bill, once it has stopped changing, beside the bytes that clients have sent and received. */
async function billedRow(shop: GatewayShop, parts: readonly Rough[]): Promise<Row> {
  const real = parts.reduce((sum, { bytes }) => sum + bytes, 0)
  let billed = 0
  for (let waitedMs = 0; waitedMs < givenBackWithinMs && billed !== real; waitedMs += pollMs) {
    billed = await shop.billedBytes()
    await Bun.sleep(pollMs)
  }
  const write = (bytes: number): string => bytes.toLocaleString('en-US')
  return {
    what: 'bytes carried and billed',
    figure: `${write(real)} and ${write(billed)}`,
    target: 'the same',
    met: billed === real,
    rounds: [real, billed],
  }
}

function pipesRow(readings: readonly Reading[]): Row {
  const max = Math.max(...readings.map(({ pipes }) => pipes))
  const what = 'ends of pipes, at most'
  return { what, figure: String(max), target: `≤ ${maxPipeEnds}`, met: max <= maxPipeEnds, rounds: [max] }
}

async function watch({ say }: Context, shop: GatewayShop, seconds: number): Promise<Reading[]> {
  const readings: Reading[] = []
  const startedMs = performance.now()
  for (let atMs = 0; atMs < seconds * 1000 - sampleMs / 2; atMs = performance.now() - startedMs) {
    const reading = { atMs, ...readNow(shop) }
    readings.push(reading)
    say(
      `  ${(atMs / 1000).toFixed(0).padStart(4)} s  ${reading.mb.toFixed(1)} MB  ${reading.descriptors} descriptors  ${reading.pipes} ends of pipes`,
    )
    await Bun.sleep(sampleMs - ((performance.now() - startedMs) % sampleMs))
  }
  return readings
}

function readNow(shop: GatewayShop): Omit<Reading, 'atMs'> {
  const pids = shop.gatewayPids()
  const { others, pipes } = descriptorsOf(pids)
  return { mb: familyMb(pids), descriptors: others, pipes }
}

/** Polls the number of descriptors until it is as low as wanted or time is up, and returns the lowest. */
async function waitForFewest(shop: GatewayShop, wanted: number): Promise<number> {
  let fewest = Number.POSITIVE_INFINITY
  for (let waitedMs = 0; waitedMs < givenBackWithinMs && fewest > wanted; waitedMs += pollMs) {
    fewest = Math.min(fewest, readNow(shop).descriptors)
    await Bun.sleep(pollMs)
  }
  return fewest
}

const counted = (readings: readonly Reading[]): Reading[] => readings.filter(({ atMs }) => atMs >= notCountedMs)

/** The slope of a least-squares line through the readings after the first minute. */
function slopeRow(readings: readonly Reading[]): Row {
  const what = 'growth of memory after the first minute'
  const later = counted(readings)
  if (later.length < 3) return { what, figure: 'not measured: it takes more than a minute', rounds: [] }
  const slope = slopeOf(later.map(({ atMs, mb }) => ({ x: atMs / 60_000, y: mb })))
  return { ...amountRow(what, [slope], ' MB/min', 2), target: `< ${maxSlopeMb} MB/min`, met: slope < maxSlopeMb }
}

/**
 * A garbage collector lets memory rise for minutes before it falls, which a line shows as growth. A leak raises the
 * lowest points.
 */
function lowestRow(readings: readonly Reading[]): Row {
  const later = counted(readings).map(({ mb }) => mb)
  const half = Math.ceil(later.length / 2)
  const lowest = [later.slice(0, half), later.slice(half)].map((part) => Math.min(...part))
  const [first = Number.NaN, second = Number.NaN] = lowest
  const what = 'least memory in the first and in the second half of that'
  if (later.length < 2) return { what, figure: 'not measured: it takes more than a minute', rounds: [] }
  return { what, figure: `${first.toFixed(0)} MB and ${second.toFixed(0)} MB`, rounds: lowest }
}
