import type { Log } from '../core/log.ts'
import type { Timing } from '../dataplane/agent/runtime.ts'

/** Message of a part that has opened. */
export type Opened = { readonly banner?: string; readonly isSandbox?: boolean }

/** One supervised process. `run` resolves with its exit code; `onOpen` is called when it has opened. */
export type Part = {
  readonly name: string
  /** For an optional part: no part waits for it, and only this is called when it fails. */
  readonly onGivenUp?: () => void
  run(onOpen: (opened: Opened) => void, stop: AbortSignal): Promise<number>
}

/** Exit code of a bad setting, which a restart does not fix. */
const badSettingExit = 2

const firstPauseMs = 250
const maxPauseMs = 15_000
/** A part that was open for this long has recovered; its next pause is short again. */
const healthyMs = 60_000
/** How long a part may take to open for the first time. */
const maxStartMs = 60_000
/** Once opened, a part may be away for longer: a gateway serves without its shop. */
const maxAwayMs = 600_000
/** Head start of the first part, without which the others can do nothing. */
const othersLaterMs = 400

type Deps = {
  readonly log: Log
  readonly timing: Timing
  /** Called once, when every required part has opened. */
  readonly onAllOpen: (shown: readonly Opened[]) => void
}

/**
 * Runs each part and restarts it with a growing pause. The first part is stopped last. A required part that gives up
 * ends all parts. Returns the exit code: 0 after `stop`.
 */
export async function supervise(parts: readonly Part[], deps: Deps, stop: AbortSignal): Promise<number> {
  const [first, ...others] = parts
  if (!first) return 0
  const opened = new Map<string, Opened>()
  const stopOthers = new AbortController()
  const stopFirst = new AbortController()
  const onStop = (): void => stopOthers.abort()
  stop.addEventListener('abort', onStop)
  if (stop.aborted) onStop()

  function noteOpen(part: Part, report: Opened): void {
    if (opened.has(part.name)) return deps.log.info('open again', { part: part.name })
    opened.set(part.name, report)
    if (part.onGivenUp) return
    const needed = parts.filter((each) => !each.onGivenUp)
    if (needed.every(({ name }) => opened.has(name))) deps.onAllOpen([...opened.values()])
  }

  async function keep(part: Part, end: AbortSignal): Promise<number> {
    const code = await keepAlive(part, deps, (report) => noteOpen(part, report), end)
    if (part.onGivenUp) {
      if (!end.aborted) part.onGivenUp()
      return 0
    }
    stopOthers.abort()
    return code
  }

  const rest = deps.timing
    .pause(othersLaterMs, stopOthers.signal)
    .then(() => Promise.all(others.map((part) => keep(part, stopOthers.signal))))
  stopOthers.signal.addEventListener('abort', () => void rest.then(() => stopFirst.abort()))
  if (stopOthers.signal.aborted) void rest.then(() => stopFirst.abort())
  const codes = [await keep(first, stopFirst.signal), ...(await rest)]
  return codes.includes(badSettingExit) ? badSettingExit : Math.max(...codes)
}

async function keepAlive(part: Part, deps: Deps, onOpen: (report: Opened) => void, stop: AbortSignal): Promise<number> {
  const { log, timing } = deps
  let pauseMs = firstPauseMs
  let wasOpen = false
  let awayAt = timing.now()
  while (!stop.aborted) {
    let openedAt = Number.POSITIVE_INFINITY
    const code = await part.run((report) => {
      openedAt = timing.now()
      wasOpen = true
      onOpen(report)
    }, stop)
    if (stop.aborted) return code === 0 ? 0 : 1
    if (code === badSettingExit) {
      log.error('cannot run', { part: part.name, exit: code, explanation: 'Correct the setting that is named above.' })
      return code
    }
    if (timing.now() - openedAt >= healthyMs) {
      awayAt = timing.now()
      pauseMs = firstPauseMs
    }
    const awayMs = timing.now() - awayAt
    if (awayMs >= (wasOpen ? maxAwayMs : maxStartMs)) {
      const explanation = 'It ended at each start. The reason is above. All parts stop.'
      log.error('given up', { part: part.name, exit: code, away_ms: Math.round(awayMs), explanation })
      return 1
    }
    log.warn('died', { part: part.name, exit: code, again_in_ms: pauseMs })
    await timing.pause(pauseMs, stop)
    pauseMs = Math.min(pauseMs * 2, maxPauseMs)
  }
  return 0
}
