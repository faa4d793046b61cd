import { join } from 'node:path'
import type { Bench, Context } from './context.ts'
import { startDante } from './forward-proxies.ts'
import { startGatewayShop, untilItWorks } from './gateway-shop.ts'
import { alternate, type Sample } from './measure.ts'
import { cpuSecondsOf } from './process-cost.ts'
import { amountRow, type Row, rateRow, ratioRow } from './report.ts'
import type { Stage } from './stage.ts'
import { createLines, openTunnels } from './tunnels.ts'

/** A datagram of a game or a call; eight associations with 32 datagrams on the way in each. */
const plan = { associations: 8, window: 32, bytes: 200 } as const
const danteTarget = { min: 1 }

type UdpPeer = {
  readonly name: string
  /** `direct` without a proxy. */
  readonly endpoint: string
  readonly user: string
  readonly password: string
  readonly pid?: number
}

type UdpSample = Sample & { readonly cpuSeconds: number; readonly packets: number }

/** Echoed datagrams per second through SOCKS5 UDP ASSOCIATE. */
export const udp: Bench = {
  name: 'udp',
  about: 'datagrams through SOCKS5 UDP ASSOCIATE of the gateway, beside Dante',
  async run(context) {
    const { stage, say } = context
    const run = await openUdpLoad(stage)
    const tunnels = await openTunnels(stage)
    if (!run || !tunnels) {
      say('  NOTHING IS MEASURED: there is no C compiler to build the load with (apt-get install gcc)')
      return [{ what: 'everything', figure: 'not measured: no C compiler', rounds: [] }]
    }
    const shop = await startGatewayShop(stage)
    const route = await shop.buySocksRoute()
    await untilItWorks(tunnels, [route])
    const dante = await startDante(stage, say)
    const ours: UdpPeer = { ...route, name: 'Turnpike', pid: shop.pid }
    const others: UdpPeer[] = dante ? [{ ...dante.route, name: dante.name, pid: dante.pid }] : []
    const none: UdpPeer = { name: 'no proxy', endpoint: 'direct', user: '', password: '' }
    return toRows(await measure(context, run, [ours, ...others, none]))
  },
}

async function measure({ rounds, seconds, say }: Context, run: RunUdp, peers: readonly UdpPeer[]) {
  const toPeer = (peer: UdpPeer) => ({
    name: peer.name,
    async measure(): Promise<UdpSample> {
      const before = peer.pid === undefined ? 0 : cpuSecondsOf(peer.pid)
      const result = await run(peer, seconds)
      const cpuSeconds = peer.pid === undefined ? 0 : cpuSecondsOf(peer.pid) - before
      if (result.errors > 0) throw new Error(`${result.errors} datagrams through ${peer.name} came back wrong`)
      if (result.resent > 0) say(`  ${peer.name} lost datagrams: ${result.resent} were sent again`)
      return { perSecond: result.received / result.seconds, cpuSeconds, packets: result.received }
    },
  })
  const measured = peers.map(toPeer)
  for (const peer of measured) await peer.measure()
  return alternate(measured, rounds, say)
}

function toRows(taken: ReadonlyMap<string, readonly UdpSample[]>): Row[] {
  const what = `echoed datagrams of ${plan.bytes} bytes over SOCKS5`
  const figures = [...taken].flatMap(([name, samples]) => {
    const costs = samples.flatMap(({ packets, cpuSeconds }) => (cpuSeconds > 0 ? [packets / cpuSeconds] : []))
    const rates = samples.map(({ perSecond }) => perSecond)
    const cost = costs.length === 0 ? [] : [amountRow(`${what}, ${name}, for a CPU second`, costs, '')]
    return [rateRow(`${what}, ${name}`, rates), ...cost]
  })
  const ours = taken.get('Turnpike') ?? []
  const dante = taken.get('Dante') ?? []
  const ratios = ours.flatMap(({ perSecond }, round) => {
    const other = dante[round]?.perSecond
    return other === undefined || other === 0 ? [] : [perSecond / other]
  })
  return [...figures, ratioRow(`${what}, Turnpike against Dante`, ratios, danteTarget)]
}

/** `resent`: datagrams that were sent again because none came back. */
type UdpResult = {
  readonly received: number
  readonly errors: number
  readonly resent: number
  readonly seconds: number
}
type RunUdp = (peer: UdpPeer, seconds: number) => Promise<UdpResult>

/** Compiles bench/udp-load.c and starts its echo. Undefined without a C compiler. */
async function openUdpLoad(stage: Stage): Promise<RunUdp | undefined> {
  const compiler = Bun.which('cc')
  if (compiler === null) return undefined
  const program = join(stage.makeFolder(), 'udp-load')
  const compiled = Bun.spawnSync([compiler, '-O2', '-o', program, join(import.meta.dir, 'udp-load.c')])
  if (!compiled.success) throw new Error(`bench/udp-load.c does not compile:\n${compiled.stderr.toString()}`)
  const spawn = (args: readonly string[]) =>
    Bun.spawn([program, ...args], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })
  const echo = spawn(['echo'])
  stage.atEnd(async () => {
    echo.kill()
    await echo.exited
  })
  const { port } = JSON.parse(await createLines(echo.stdout)()) as { port: number }
  return async ({ endpoint, user, password }, seconds) => {
    const { associations, window, bytes } = plan
    const child = spawn(['run', ...[endpoint, port, associations, window, bytes, seconds, user, password].map(String)])
    const result = JSON.parse(await createLines(child.stdout)()) as UdpResult
    await child.exited
    return result
  }
}
