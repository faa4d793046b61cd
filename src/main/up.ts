import type { Log } from '../adapters/log.ts'

/** One process that `turnpike up` looks after. */
export type Role = { readonly name: string; readonly command: readonly string[] }

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
export async function supervise(roles: readonly Role[], log: Log, stop: AbortSignal): Promise<number> {
  const [first, ...others] = roles
  // Nodes can do nothing before their shop is there, and would only slow its start.
  const rest = pause(othersLaterMs, stop).then(() => Promise.all(others.map((role) => keepAlive(role, log, stop))))
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
    const startedMs = performance.now()
    const code = await runOnce(role, log, stop)
    if (stop.aborted) return code === 0
    const livedMs = performance.now() - startedMs
    // A setting that cannot be used is not mended by trying again.
    if (code === 2) return false
    earlyDeaths = livedMs < healthyMs ? earlyDeaths + 1 : 0
    if (earlyDeaths === 0) pauseMs = firstPauseMs
    if (livedMs < 2_000 && earlyDeaths >= mostEarlyDeaths) {
      log.error('given up', { part: role.name, exit: code, deaths: earlyDeaths })
      return false
    }
    log.warn('died', { part: role.name, exit: code, again_in_ms: pauseMs })
    await pause(pauseMs, stop)
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

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms)
    function done(): void {
      clearTimeout(timer)
      stop.removeEventListener('abort', done)
      resolve()
    }
    stop.addEventListener('abort', done)
  })
}
