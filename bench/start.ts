import { join } from 'node:path'
import type { Bench } from './context.ts'
import { findFreePort } from './free-port.ts'
import { timeRow } from './report.ts'
import {
  commandOf,
  familyOf,
  fromSources,
  residentMb,
  spawnTurnpike,
  stopTurnpike,
  type TurnpikeProcess,
} from './shop-process.ts'
import type { Stage } from './stage.ts'
import { median } from './statistics.ts'

const starts = 5
const idleMs = 5_000
const pollMs = 5
const answersWithinMs = 30_000

/** The waiting time of a newcomer, and the memory of an idle shop. */
export const start: Bench = {
  name: 'start',
  about: 'from the start of `turnpike up` to the first answer of /healthz, and the memory of an idle shop',
  async run({ stage, say }) {
    const first: Start[] = []
    const later: Start[] = []
    for (let round = 0; round < starts; round += 1) {
      const folder = join(stage.makeFolder(), 'data')
      for (const kind of [first, later]) {
        const measured = await measureStart(stage, folder)
        kind.push(measured)
        say(`  ${kind === first ? 'first' : 'later'} start: ${measured.tookMs.toFixed(0)} ms`)
      }
    }
    const of = (kind: readonly Start[], name: keyof Start) => kind.map((each) => each[name])
    return [
      timeRow('first start, empty folder', of(first, 'tookMs'), 2_000),
      timeRow('later start', of(later, 'tookMs'), 500),
      memoryRow('memory of the idle shop after its first start', of(first, 'shopMb'), 120),
      memoryRow('memory of the idle shop after a later start', of(later, 'shopMb'), 120),
      memoryRow('the same with the gateway, the supervisor and the launcher', of(later, 'allMb')),
    ]
  },
}

export type Start = { readonly tookMs: number; readonly shopMb: number; readonly allMb: number }

/** One start of `turnpike up`, and its memory while idle. */
export async function measureStart(stage: Stage, folder: string, program = fromSources): Promise<Start> {
  const { tookMs, child, stop } = await startUp(folder, program)
  stage.atEnd(stop)
  await Bun.sleep(idleMs)
  const family = familyOf(child.pid)
  const shop = family.find((pid) => / shop( |$)/.test(commandOf(pid)))
  if (shop === undefined) throw new Error('there is no shop among the processes that were started')
  const allMb = family.reduce((sum, pid) => sum + residentMb(pid), 0)
  const shopMb = residentMb(shop)
  await stop()
  return { tookMs, shopMb, allMb }
}

export const memoryRow = (what: string, values: readonly number[], max?: number) => {
  const middle = median(values)
  return {
    what,
    figure: `${middle.toFixed(0)} MB`,
    rounds: values,
    ...(max !== undefined && { target: `< ${max} MB`, met: middle < max }),
  }
}

async function startUp(
  folder: string,
  program: readonly string[],
): Promise<{ tookMs: number; child: TurnpikeProcess; stop: () => Promise<void> }> {
  const port = await findFreePort()
  const gatewayPort = await findFreePort()
  const startedMs = performance.now()
  const settings = {
    TURNPIKE_PORT: String(port),
    TURNPIKE_GATEWAY_PORT: String(gatewayPort),
    TURNPIKE_DATA: folder,
    TURNPIKE_SANDBOX_TOKEN: 'bench-token-of-the-sandbox',
  }
  const child = spawnTurnpike(['up'], settings, program)
  const stop = () => stopTurnpike(child)
  while (!(await isHealthy(port))) {
    if (performance.now() - startedMs > answersWithinMs || child.exitCode !== null) {
      await stop()
      throw new Error('the shop did not answer')
    }
    await Bun.sleep(pollMs)
  }
  return { tookMs: performance.now() - startedMs, child, stop }
}

const isHealthy = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/healthz`).then(
    (answer) => answer.ok,
    () => false,
  )
