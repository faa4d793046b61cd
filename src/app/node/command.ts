import type { Command, Given, Option } from '../../cli/command.ts'
import type { Log } from '../../core/log.ts'
import { configOf, logOf, startCollecting, startupLog, tellOpened, tellServing, untilStopped } from '../process.ts'
import type { Config } from '../settings/config.ts'

export type RunningNode = {
  /** Settles when the node serves; absent if it serves already. */
  readonly ready?: Promise<void>
  /** Settles when its shop sells its goods and it serves over TLS too, or these are late. `up` waits for it. */
  readonly settled?: () => Promise<void>
  /** Settles if the node cannot continue. */
  readonly failed?: Promise<void>
  /** Settles once another process has taken over and all connections have ended. */
  readonly replaced?: Promise<void>
  /** False once another process has taken over; absent means true. */
  readonly isServing?: () => boolean
  readonly onHangUp?: (() => void) | undefined
  stop(): Promise<void>
}

/** Command that runs a node until it is stopped or fails. `open` may be aborted before the node runs. */
export const nodeCommand = (
  name: string,
  summary: string,
  open: (config: Config, log: Log, end: AbortSignal, given: Given) => Promise<RunningNode | undefined>,
  options: readonly Option[] = [],
): Command => ({
  name,
  summary,
  takes: [],
  options,
  async run(given) {
    const config = configOf(given)
    const stop = new AbortController()
    const opened: { node?: RunningNode | undefined } = {}
    // A process that has not taken over yet does not serve.
    const isServing = () => opened.node !== undefined && (opened.node.isServing?.() ?? true)
    const stopped = untilStopped(() => opened.node?.onHangUp, isServing).then(() => stop.abort())
    const log = logOf(config, name)
    // Until it has taken over, another process is the service.
    const startup = given.flags['take-over'] === undefined ? startupLog(log) : { log, opened: tellServing }
    const node = await open(config, startup.log, stop.signal, given)
    opened.node = node
    startCollecting()
    const tell = async ({ ready, settled }: RunningNode): Promise<void> => {
      await ready
      startup.opened()
      await settled?.()
      tellOpened({})
    }
    if (node) void tell(node)
    const exit = await Promise.race([
      stopped.then(() => 0),
      ...(node?.failed ? [node.failed.then(() => 1)] : []),
      ...(node?.replaced ? [node.replaced.then(() => 0)] : []),
    ])
    stop.abort()
    await node?.stop()
    return { json: null, lines: [], exit }
  },
})
