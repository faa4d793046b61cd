import type { StatePage } from '../../node-protocol/state.ts'
import { LinkError, type ShopLink } from './shop-link.ts'
import { type Chance, createLimitedLog, growingPause, type Log, type Timing } from './surroundings.ts'

/** Where in a read a page stands. A whole read names all there is: what it does not name is gone. */
export type PagePlace = { readonly isWhole: boolean; readonly isFirst: boolean; readonly isLast: boolean }

const firstPauseMs = 250
const mostPauseMs = 10_000
/** Short enough that a connection that died silently is noticed soon. */
const waitSeconds = 10
/** A shop that answers a waiting request at once with nothing in it is not asked more often than this. */
const emptyPauseMs = 250
const quickMs = 100

/**
 * Keeps the node up to date: the whole state, page by page, then changes as they come. `onPage` may be handed the same
 * thing twice. An `onPage` that throws is handed the same page again after a pause.
 */
export function createSync(deps: {
  readonly link: Pick<ShopLink, 'state'>
  readonly timing: Timing
  readonly chance: Chance
  readonly log: Log
  readonly onPage: (page: StatePage, place: PagePlace) => void
}) {
  const { timing } = deps
  const limitedLog = createLimitedLog(deps.log, timing.now)
  const { promise: ready, resolve: setReady } = Promise.withResolvers<void>()
  let cursor: string | undefined
  /** True until a read from the beginning has come to its end. */
  let isWhole = true
  let isBehind = true
  let failures = 0
  let lastContactAt: number | undefined
  /** When all was last known to be heard; before that, when the asking began. */
  let currentAt = timing.now()

  function restart(): void {
    cursor = undefined
    isWhole = true
    isBehind = true
  }

  function take(page: StatePage): void {
    if (page.more && page.cursor === cursor) throw new LinkError('fault', 'the shop promises more and does not go on')
    deps.onPage(page, { isWhole, isFirst: isWhole && cursor === undefined, isLast: !page.more })
    cursor = page.cursor
    isBehind = page.more
    if (page.more) return
    isWhole = false
    currentAt = timing.now()
    setReady()
  }

  function noteFailure(error: unknown): void {
    failures += 1
    isBehind = true
    const isFault = !(error instanceof LinkError) || error.trouble === 'fault'
    const awayMs = Math.round(timing.now() - (lastContactAt ?? currentAt))
    limitedLog(isFault ? 'error' : 'warn', 'state not read', { fault: error, away_ms: awayMs })
    if (error instanceof LinkError && error.status === 400 && cursor !== undefined) restart()
  }

  async function readOnce(end: AbortSignal): Promise<void> {
    const askedAt = timing.now()
    const mayWait = !isBehind && !isWhole
    const page = await deps.link.state(cursor, mayWait ? waitSeconds : 0, end)
    if (failures > 0) {
      deps.log.info('shop reached again', { away_ms: Math.round(timing.now() - (lastContactAt ?? currentAt)) })
    }
    lastContactAt = timing.now()
    take(page)
    failures = 0
    if (mayWait && isEmpty(page) && timing.now() - askedAt < quickMs) await timing.pause(emptyPauseMs, end)
  }

  return {
    /** Settles when the node has heard the whole state once. */
    ready,

    /** When the shop last answered, by the handed-in time. */
    get lastContactAt(): number | undefined {
      return lastContactAt
    },

    /** How long the node has not known for sure that it has heard everything. */
    get lagMs(): number {
      return isBehind ? Math.max(0, Math.round(timing.now() - currentAt)) : 0
    },

    /** Runs until the signal. A refused node goes on asking at the slowest pace: the operator may take it back. */
    async run(end: AbortSignal): Promise<void> {
      currentAt = timing.now()
      while (!end.aborted) {
        try {
          await readOnce(end)
        } catch (error) {
          if (end.aborted) return
          noteFailure(error)
          const isRefused = error instanceof LinkError && error.trouble === 'refused'
          await timing.pause(
            isRefused ? mostPauseMs : growingPause(failures, firstPauseMs, mostPauseMs, deps.chance),
            end,
          )
        }
      }
    },
  }
}

const isEmpty = (page: StatePage): boolean =>
  [page.ranges, page.gateways, page.proxies, page.subusers, page.exits, page.peers].every((part) => part.length === 0)
