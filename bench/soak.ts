import type { Bench, Context } from './context.ts'
import { type GatewayShop, routeOf, startGatewayShop, untilItWorks } from './gateway-shop.ts'
import { descriptorsOf, familyMb } from './process-cost.ts'
import { amountRow, type Row } from './report.ts'
import { openTunnels, type Route, type Tunnels } from './tunnels.ts'

const idleTunnels = 2_000
const churn = { tunnels: 64, bytes: 1_024, rate: 200 }
const warmUpSeconds = 5
const sampleMs = 5_000
/** What is taken in the first minute is kept for good: compiled code, pools, caches. */
const notCountedMs = 60_000
const mostSlopeMb = 1
/** How long descriptors may take to be given back once nobody uses them. */
const givenBackWithinMs = 10_000
const pollMs = 100

type Reading = { readonly atMs: number; readonly mb: number; readonly descriptors: number }

/**
 * Does the gateway keep anything of what it has carried? Many tunnels stand still beside others that come and go, for
 * minutes.
 */
export const soak: Bench = {
  name: 'soak',
  about: `${idleTunnels} idle tunnels and ${churn.rate} new ones a second through the gateway, for --minutes`,
  async run(context) {
    const tunnels = await openTunnels(context.stage)
    if (!tunnels) {
      context.say('  NOTHING IS MEASURED: there is no C compiler to build the load with (apt-get install gcc)')
      return [{ what: 'everything', figure: 'not measured: no C compiler', rounds: [] }]
    }
    const shop = await startGatewayShop(context.stage)
    const route = routeOf(await shop.buyProxy(), 'connect')
    await untilItWorks(tunnels, [route])
    return soakThrough(context, shop, tunnels, route)
  },
}

async function soakThrough(context: Context, shop: GatewayShop, tunnels: Tunnels, route: Route): Promise<Row[]> {
  await tunnels.run({ route, tunnels: churn.tunnels, bytes: churn.bytes, seconds: warmUpSeconds })
  const before = await waitForFewest(shop, 0)
  const seconds = context.minutes * 60
  const held = await tunnels.hold({ route, tunnels: idleTunnels, bytes: churn.bytes, seconds: seconds + 60 })
  const carrying = tunnels.run({ route, ...churn, seconds })
  const readings = await watch(context, shop, seconds)
  const carried = await carrying
  const alive = await held.release()
  const after = await waitForFewest(shop, before)
  const failed = carried.errors + (idleTunnels - alive.tunnels)
  if (failed > 0)
    throw new Error(
      `${carried.errors} new tunnels failed and ${idleTunnels - alive.tunnels} idle ones were lost, the first with: ${carried.firstError || alive.firstError}`,
    )
  return [
    {
      what: 'tunnels carried beside the idle ones',
      figure: carried.tunnels.toLocaleString('en-US'),
      rounds: [carried.tunnels],
    },
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
  ]
}

async function watch({ say }: Context, shop: GatewayShop, seconds: number): Promise<Reading[]> {
  const readings: Reading[] = []
  const startedMs = performance.now()
  for (let atMs = 0; atMs < seconds * 1000 - sampleMs / 2; atMs = performance.now() - startedMs) {
    const reading = { atMs, ...readNow(shop) }
    readings.push(reading)
    say(`  ${(atMs / 1000).toFixed(0).padStart(4)} s  ${reading.mb.toFixed(1)} MB  ${reading.descriptors} descriptors`)
    await Bun.sleep(sampleMs - ((performance.now() - startedMs) % sampleMs))
  }
  return readings
}

function readNow(shop: GatewayShop): Omit<Reading, 'atMs'> {
  const pids = shop.gatewayPids()
  return { mb: familyMb(pids), descriptors: descriptorsOf(pids) }
}

/**
 * Asks for the number of descriptors until it is as low as wanted or time is up, and returns the lowest that was seen.
 */
async function waitForFewest(shop: GatewayShop, wanted: number): Promise<number> {
  let fewest = Number.POSITIVE_INFINITY
  for (let waitedMs = 0; waitedMs < givenBackWithinMs && fewest > wanted; waitedMs += pollMs) {
    fewest = Math.min(fewest, readNow(shop).descriptors)
    await Bun.sleep(pollMs)
  }
  return fewest
}

const counted = (readings: readonly Reading[]): Reading[] => readings.filter(({ atMs }) => atMs >= notCountedMs)

/** The line through the readings by least squares, once the first minute is over. */
function slopeRow(readings: readonly Reading[]): Row {
  const what = 'growth of memory after the first minute'
  const later = counted(readings)
  if (later.length < 3) return { what, figure: 'not measured: it takes more than a minute', rounds: [] }
  const mean = (of: (reading: Reading) => number) => later.reduce((sum, reading) => sum + of(reading), 0) / later.length
  const [meanMs, meanMb] = [mean(({ atMs }) => atMs), mean(({ mb }) => mb)]
  const along = mean(({ atMs, mb }) => (atMs - meanMs) * (mb - meanMb))
  const slope = (along / mean(({ atMs }) => (atMs - meanMs) ** 2)) * 60_000
  return { ...amountRow(what, [slope], ' MB/min', 2), target: `< ${mostSlopeMb} MB/min`, met: slope < mostSlopeMb }
}

/**
 * A collector lets memory rise for minutes before it falls, which a line takes for growth. What is never given back
 * raises the lowest points.
 */
function lowestRow(readings: readonly Reading[]): Row {
  const later = counted(readings).map(({ mb }) => mb)
  const half = Math.ceil(later.length / 2)
  const lowest = [later.slice(0, half), later.slice(half)].map((part) => Math.min(...part))
  const [first = Number.NaN, second = Number.NaN] = lowest
  const what = 'least memory in the first and in the second half of that'
  return { what, figure: `${first.toFixed(0)} MB and ${second.toFixed(0)} MB`, rounds: lowest }
}
