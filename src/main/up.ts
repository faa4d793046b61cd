import { join } from 'node:path'
import type { Command } from '../cli/command.ts'
import type { Log } from '../kernel/log.ts'
import { realTiming } from '../plane/agent/surroundings.ts'
import { configOf, logOf, untilStopped } from './process.ts'

/** One process that `turnpike up` looks after. */
type Role = { readonly name: string; readonly command: readonly string[] }

const firstPauseMs = 250
const mostPauseMs = 15_000
/** A process that ran this long has recovered; the next pause starts small again. */
const healthyMs = 60_000
/** A role that ends this quickly and often at its very start will not do better the tenth time. */
const mostEarlyDeaths = 5
const stopMs = 10_000
/** The first role begins this much before the others. */
const othersLaterMs = 400

/**
 * Starts each role as a process of its own, starts it again when it dies, with a growing pause, and passes the order to
 * stop on. The first role is stopped last: nodes have a last word for the shop. Returns the exit code once all have
 * ended: 0 when told to stop, 1 when a role could not be kept alive.
 */
async function supervise(roles: readonly Role[], log: Log, stop: AbortSignal): Promise<number> {
  const [first, ...others] = roles
  // Nodes can do nothing before their shop is there, and would only slow its start.
  const rest = realTiming
    .pause(othersLaterMs, stop)
    .then(() => Promise.all(others.map((role) => keepAlive(role, log, stop))))
  const stopFirst = new AbortController()
  const onStop = (): void => void rest.then(() => stopFirst.abort())
  stop.addEventListener('abort', onStop)
  if (stop.aborted) onStop()
  const firstOutcome = first ? await keepAlive(first, log, stopFirst.signal) : true
  const outcomes = [firstOutcome, ...(await rest)]
  return outcomes.every(Boolean) ? 0 : 1
}

async function keepAlive(role: Role, log: Log, stop: AbortSignal): Promise<boolean> {
  let pauseMs = firstPauseMs
  let earlyDeaths = 0
  while (!stop.aborted) {
    const startedAt = performance.now()
    const code = await runOnce(role, log, stop)
    if (stop.aborted) return code === 0
    const livedMs = performance.now() - startedAt
    // A setting that cannot be used is not mended by trying again.
    if (code === 2) return false
    earlyDeaths = livedMs < healthyMs ? earlyDeaths + 1 : 0
    if (earlyDeaths === 0) pauseMs = firstPauseMs
    if (livedMs < 2_000 && earlyDeaths >= mostEarlyDeaths) {
      log.error('given up', { part: role.name, exit: code, deaths: earlyDeaths })
      return false
    }
    log.warn('died', { part: role.name, exit: code, again_in_ms: pauseMs })
    await realTiming.pause(pauseMs, stop)
    pauseMs = Math.min(pauseMs * 2, mostPauseMs)
  }
  return true
}

async function runOnce(role: Role, log: Log, stop: AbortSignal): Promise<number> {
  // The pipe is the leash: should this process be killed outright, it breaks, and the child ends by itself.
  const child = Bun.spawn([...role.command], {
    stdin: 'pipe',
    stdout: 'inherit',
    stderr: 'inherit',
    env: { ...process.env, TURNPIKE_LEASH: '0' },
  })
  log.debug('started', { part: role.name, pid: child.pid })
  let killer: ReturnType<typeof setTimeout> | undefined
  const end = () => {
    child.kill('SIGTERM')
    killer = setTimeout(() => child.kill('SIGKILL'), stopMs)
  }
  stop.addEventListener('abort', end)
  if (stop.aborted) end()
  const code = await child.exited
  clearTimeout(killer)
  stop.removeEventListener('abort', end)
  return code
}

/**
 * It only looks after others, so it is kept apart from all that they need: it starts the sooner and weighs the less.
 */
export const upCommand: Command = {
  name: 'up',
  summary:
    'Runs everything on this machine: the shop, a gateway and, with --local-nodes=vpn, a VPN node. ' +
    'Each is started again if it dies, and all are stopped in order.',
  takes: [],
  options: [],
  async run(given) {
    const config = configOf(given)
    const log = logOf(config, 'up')
    const stop = new AbortController()
    void untilStopped().then(() => stop.abort())
    const flags = Object.entries(given.flags).flatMap(([flag, value]) =>
      flag === 'json' || flag === 'local-nodes' ? [] : [`--${flag}=${value}`],
    )
    const role = (name: string, ...more: string[]) => ({
      name,
      command: [process.execPath, ...process.execArgv, join(import.meta.dir, 'turnpike.ts'), name, ...flags, ...more],
    })
    const isVpn = config.localNodes.includes('vpn')
    const shop = role('shop', `--local-nodes=${isVpn ? 'gateway,vpn' : 'gateway'}`)
    const roles = [shop, role('gateway'), ...(isVpn ? [role('vpn-node')] : [])]
    return { json: null, lines: [], exit: await supervise(roles, log, stop.signal) }
  },
}
