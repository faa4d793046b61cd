import { closeSync, readdirSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type StatePage, statePageSchema } from '../../node-protocol/state.ts'
import { findFile, openOwn } from './own-file.ts'
import { type Chance, createLimitedLog, growingPause, type Log, parseJson, type Timing } from './runtime.ts'
import { LinkError, type ShopLink } from './shop-link.ts'

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

const fileName = 'state.log'
/** What changes may add to the file before it is written anew; also, as much as was in it then. */
const shippedMostAdded = 4 * 1024 * 1024
/** Things of a page that is written anew. */
const thingsEach = 500

/**
 * What the shop last wanted carried, on the node's own disk, a page a line: a node that starts while the shop is away
 * serves from it. It is written as it is heard and never trusted for longer than until the shop answers, for then the
 * whole state is read anew.
 */
export function openSavedState(deps: {
  readonly folder: string
  readonly timing: Timing
  readonly log: Log
  readonly mostAdded?: number
}) {
  const path = join(deps.folder, fileName)
  // Two processes of one node may be at it for a moment, and each puts a whole file into its place.
  const draft = join(deps.folder, `${fileName}.new-${process.pid}`)
  removeDrafts(deps.folder)
  const limitedLog = createLimitedLog(deps.log, deps.timing.now)
  let descriptor: number | undefined
  const mostAdded = deps.mostAdded ?? shippedMostAdded
  /** How long the file was when it last held everything once, and what came after. */
  let wholeBytes = 0
  let addedBytes = 0
  let isOver = false

  function end(): void {
    if (descriptor !== undefined) closeSync(descriptor)
    descriptor = undefined
  }

  function write(page: StatePage, place: PagePlace): void {
    if (place.isFirst) {
      end()
      descriptor = openOwn(draft, 'w')
      wholeBytes = 0
      addedBytes = 0
    }
    if (descriptor === undefined) return
    const bytes = writeSync(descriptor, `${JSON.stringify(page)}\n`)
    if (place.isWhole) wholeBytes += bytes
    else addedBytes += bytes
    if (place.isWhole && place.isLast) renameSync(draft, path)
    if (!place.isWhole && addedBytes > Math.max(mostAdded, wholeBytes)) compact()
  }

  /** Each thing once, as it was last heard of, and nothing of what is gone. */
  function compact(): void {
    end()
    descriptor = openOwn(draft, 'w')
    wholeBytes = 0
    addedBytes = 0
    for (const page of foldPages(readSavedState(deps.folder, deps.log))) {
      wholeBytes += writeSync(descriptor, `${JSON.stringify(page)}\n`)
    }
    renameSync(draft, path)
  }

  return {
    /** Notes a page. A disk that is full costs the node nothing but this. */
    note(page: StatePage, place: PagePlace): void {
      // A page of a poll that waited in vain says nothing.
      if (isOver || (!place.isWhole && isEmpty(page))) return
      try {
        write(page, place)
      } catch (error) {
        limitedLog('warn', 'state not saved', { fault: error })
        end()
      }
    },

    /** Nothing more is noted: somebody else does. */
    close(): void {
      isOver = true
      end()
    },
  }
}

/** What a process that died had begun. */
function removeDrafts(folder: string): void {
  for (const name of readdirSync(folder)) {
    const pid = /^state\.log\.new-(\d+)$/.exec(name)?.[1]
    if (pid !== undefined && !isProcess(Number(pid))) rmSync(join(folder, name), { force: true })
  }
}

function isProcess(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** The pages that were saved, in their order; none when there are none. A torn last line is left out. */
export function readSavedState(folder: string, log: Log): StatePage[] {
  const path = join(folder, fileName)
  const pages: StatePage[] = []
  for (const line of (findFile(path) ?? '').split('\n')) {
    const read = line === '' ? undefined : statePageSchema.safeParse(parseJson(line))
    if (!read) continue
    if (!read.success) {
      log.warn('saved state damaged', { pages_used: pages.length })
      break
    }
    pages.push(read.data)
  }
  return pages
}

/** The same state in as few pages as it needs. */
function foldPages(pages: readonly StatePage[]): StatePage[] {
  const last = pages.at(-1)
  if (!last) return []
  const newest = <Of extends { id: number | string }>(things: readonly Of[], isGone: (each: Of) => boolean): Of[] =>
    [...new Map(things.map((each) => [each.id, each])).values()].filter((each) => !isGone(each))
  const ranges = newest(
    pages.flatMap((page) => page.ranges),
    (each) => each.gone,
  )
  const gateways = newest(
    pages.flatMap((page) => page.gateways),
    (each) => each.state === 'gone',
  )
  const proxies = newest(
    pages.flatMap((page) => page.proxies),
    (each) => each.state === 'gone',
  )
  const subusers = newest(
    pages.flatMap((page) => page.subusers),
    (each) => each.state === 'deleted',
  )
  const exits = newest(
    pages.flatMap((page) => page.exits),
    (each) => each.drained,
  )
  const peers = newest(
    pages.flatMap((page) => page.peers),
    () => false,
  )
  const all = [ranges, gateways, proxies, subusers, exits, peers]
  const most = Math.max(1, ...all.map((each) => each.length))
  return Array.from({ length: Math.ceil(most / thingsEach) }, (_, index) => {
    const part = <Of>(things: readonly Of[]): Of[] => things.slice(index * thingsEach, (index + 1) * thingsEach)
    return {
      ...last,
      ranges: part(ranges),
      gateways: part(gateways),
      proxies: part(proxies),
      subusers: part(subusers),
      exits: part(exits),
      peers: part(peers),
    }
  })
}
