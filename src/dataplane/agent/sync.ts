import { closeSync, readdirSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type StatePage, statePageSchema } from '../../node-protocol/state.ts'
import { findFile, openOwn } from './own-file.ts'
import { type Chance, createLimitedLog, growingPause, type NodeLog, parseJson, type Timing } from './runtime.ts'
import { LinkError, type ShopLink } from './shop-link.ts'

/** A page's position in a read. A whole read names everything; items that it omits are gone. */
export type PagePlace = { readonly isWhole: boolean; readonly isFirst: boolean; readonly isLast: boolean }

const firstPauseMs = 250
const maxPauseMs = 10_000
/** Short, so that a dead connection is noticed soon. */
const waitSeconds = 10
/** Pause after a long poll that returned at once with nothing. */
const emptyPauseMs = 250
const quickMs = 100

/**
 * Keeps the node up to date: the whole state page by page, then changes by long polling. `onPage` may receive an item
 * twice; if it throws, it receives the same page again.
 */
export function createSync(deps: {
  readonly link: Pick<ShopLink, 'state'>
  readonly timing: Timing
  readonly chance: Chance
  readonly log: NodeLog
  readonly onPage: (page: StatePage, place: PagePlace) => void
}) {
  const { timing } = deps
  const limitedLog = createLimitedLog(deps.log, timing.now)
  const { promise: ready, resolve: setReady } = Promise.withResolvers<void>()
  let cursor: string | undefined
  let isWhole = true
  let isBehind = true
  let failures = 0
  let lastContactAt: number | undefined
  /** When the node was last up to date; before that, when it started. */
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
    /** Resolves after the first whole read. */
    ready,

    get lastContactAt(): number | undefined {
      return lastContactAt
    },

    /** Milliseconds since the node was last known to be up to date. */
    get lagMs(): number {
      return isBehind ? Math.max(0, Math.round(timing.now() - currentAt)) : 0
    },

    /** A refused node keeps asking at the slowest rate: the operator may restore it. */
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
            isRefused ? maxPauseMs : growingPause(failures, firstPauseMs, maxPauseMs, deps.chance),
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
/** Changes may add this much, or as much as the whole state, before the file is compacted. */
const shippedMostAdded = 4 * 1024 * 1024
/** Items per page of a compacted file. */
const thingsEach = 500

/**
 * The desired state on disk, one page per line: a node that starts while the shop is away serves from it. It is
 * replaced by the first whole read.
 */
export function openSavedState(deps: {
  readonly folder: string
  readonly timing: Timing
  readonly log: NodeLog
  readonly maxAdded?: number
}) {
  const path = join(deps.folder, fileName)
  // Two processes of one node may write at the same time.
  const draft = join(deps.folder, `${fileName}.new-${process.pid}`)
  removeDrafts(deps.folder)
  const limitedLog = createLimitedLog(deps.log, deps.timing.now)
  let descriptor: number | undefined
  const maxAdded = deps.maxAdded ?? shippedMostAdded
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
    if (!place.isWhole && addedBytes > Math.max(maxAdded, wholeBytes)) compact()
  }

  /** Rewrites the file with the latest version of each item. */
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
    /** Saves a page; a full disk is only logged. */
    note(page: StatePage, place: PagePlace): void {
      // A long poll that timed out.
      if (isOver || (!place.isWhole && isEmpty(page))) return
      try {
        write(page, place)
      } catch (error) {
        limitedLog('warn', 'state not saved', { fault: error })
        end()
      }
    },

    /** Another process saves from now on. */
    close(): void {
      isOver = true
      end()
    },
  }
}

/** Deletes drafts of dead processes. */
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

/** Saved pages in order, without a torn last line. */
export function readSavedState(folder: string, log: NodeLog): StatePage[] {
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

function foldPages(pages: readonly StatePage[]): StatePage[] {
  const last = pages.at(-1)
  if (!last) return []
  const latest = <Item extends { id: number | string; gone?: boolean; drained?: boolean; state?: string }>(
    partOf: (page: StatePage) => readonly Item[],
  ): Item[] =>
    [...new Map(pages.flatMap(partOf).map((each) => [each.id, each])).values()].filter((each) => !isGone(each))
  const ranges = latest((page) => page.ranges)
  const gateways = latest((page) => page.gateways)
  const proxies = latest((page) => page.proxies)
  const subusers = latest((page) => page.subusers)
  const exits = latest((page) => page.exits)
  const peers = latest((page) => page.peers)
  const all = [ranges, gateways, proxies, subusers, exits, peers]
  const max = Math.max(1, ...all.map((each) => each.length))
  return Array.from({ length: Math.ceil(max / thingsEach) }, (_, index) => {
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

/** Whether the shop has removed the item, in the words of its kind. */
const isGone = (item: { gone?: boolean; drained?: boolean; state?: string }): boolean =>
  item.gone === true || item.drained === true || item.state === 'gone' || item.state === 'deleted'
