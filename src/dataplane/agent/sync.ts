import { closeSync, readdirSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type StatePage, statePageSchema } from '../../node-protocol/state.ts'
import { findFile, openOwn } from './own-file.ts'
import { type Chance, createLimitedLog, growingPause, type NodeLog, parseJson, type Timing } from './runtime.ts'
import { LinkError, type ShopLink } from './shop-link.ts'

/** A page's position in a read. A whole read names everything; items that it omits are gone. */
export type PagePosition = { readonly isWhole: boolean; readonly isFirst: boolean; readonly isLast: boolean }

const firstPauseMs = 250
const maxPauseMs = 10_000
/** The shop holds a long poll this long; a short wait detects a dead connection soon. */
const waitSeconds = 10
/** Pause after a long poll that returned within `quickMs` without a change. */
const emptyPauseMs = 250
const quickMs = 100
/** A shop that refuses positions more often is answered with growing pauses. */
const refusedPauseMs = 10_000

/**
 * Keeps the node up to date: the whole state page by page, then changes by long polling. `onPage` may receive an item
 * twice; if it throws, it receives the same page again.
 */
export class StateSync {
  private readonly timing
  private readonly limitedLog
  private readonly firstRead = Promise.withResolvers<void>()
  /** Resolves after the first whole read. */
  readonly ready = this.firstRead.promise
  private cursor: string | undefined
  /** The shop's mark of the last page that was applied. */
  mark: string | undefined
  private isWhole = true
  private isBehind = true
  private failures = 0
  private refusedAt = Number.NEGATIVE_INFINITY
  lastContactAt: number | undefined
  /** When the node was last up to date; before that, when it started. */
  private currentAt: number

  constructor(
    private readonly deps: {
      readonly link: Pick<ShopLink, 'state'>
      readonly timing: Timing
      readonly chance: Chance
      readonly log: NodeLog
      readonly onPage: (page: StatePage, position: PagePosition) => void
    },
  ) {
    this.timing = deps.timing
    this.limitedLog = createLimitedLog(deps.log, this.timing.now)
    this.currentAt = this.timing.now()
  }

  /** Milliseconds since the node was last known to be up to date. */
  get lagMs(): number {
    return this.isBehind ? Math.max(0, Math.round(this.timing.now() - this.currentAt)) : 0
  }

  /** A refused node keeps asking at the slowest rate: the operator may restore it. */
  async run(end: AbortSignal): Promise<void> {
    this.currentAt = this.timing.now()
    while (!end.aborted) {
      try {
        await this.readOnce(end)
      } catch (error) {
        if (end.aborted) return
        if (this.beginsWhole(error)) continue
        this.noteFailure(error)
        const isRefused = error instanceof LinkError && error.trouble === 'refused'
        const pauseMs = growingPause(this.failures, firstPauseMs, maxPauseMs, this.deps.chance)
        await this.timing.pause(isRefused ? maxPauseMs : pauseMs, end)
      }
    }
  }

  private take(page: StatePage): void {
    if (page.more && page.cursor === this.cursor)
      throw new LinkError('fault', 'the shop announces more pages and repeats the cursor')
    const isFirst = this.isWhole && this.cursor === undefined
    this.deps.onPage(page, { isWhole: this.isWhole, isFirst, isLast: !page.more })
    this.cursor = page.cursor
    this.mark = page.mark
    this.isBehind = page.more
    if (page.more) return
    this.isWhole = false
    this.currentAt = this.timing.now()
    this.firstRead.resolve()
  }

  /** The shop does not understand the position of an up-to-date node: its database went back. Reads the whole state. */
  private beginsWhole(error: unknown): boolean {
    if (!(error instanceof LinkError) || error.status !== 400 || this.cursor === undefined || this.isWhole) return false
    const nowAt = this.timing.now()
    if (nowAt - this.refusedAt < refusedPauseMs) return false
    this.refusedAt = nowAt
    this.lastContactAt = nowAt
    this.isBehind = true
    this.cursor = undefined
    this.isWhole = true
    this.deps.log.info('whole state requested', { explanation: 'The shop does not know the position of this node.' })
    return true
  }

  private noteFailure(error: unknown): void {
    this.failures += 1
    this.isBehind = true
    const isFault = !(error instanceof LinkError) || error.trouble === 'fault'
    const awayMs = Math.round(this.timing.now() - (this.lastContactAt ?? this.currentAt))
    this.limitedLog(isFault ? 'error' : 'warn', 'state not read', { fault: error, away_ms: awayMs })
    if (!(error instanceof LinkError) || error.status !== 400) return
    // The shop does not know the cursor: read the whole state again.
    this.cursor = undefined
    this.isWhole = true
  }

  private async readOnce(end: AbortSignal): Promise<void> {
    const requestedAt = this.timing.now()
    const mayWait = !this.isBehind && !this.isWhole
    const page = await this.deps.link.state(this.cursor, mayWait ? waitSeconds : 0, end, this.mark)
    if (this.failures > 0) {
      this.deps.log.info('shop reached again', {
        away_ms: Math.round(this.timing.now() - (this.lastContactAt ?? this.currentAt)),
      })
    }
    this.lastContactAt = this.timing.now()
    this.take(page)
    this.failures = 0
    if (mayWait && isEmpty(page) && this.timing.now() - requestedAt < quickMs)
      await this.timing.pause(emptyPauseMs, end)
  }
}

const stateParts = ['ranges', 'gateways', 'proxies', 'subusers', 'exits', 'peers', 'devices'] as const

const isEmpty = (page: StatePage): boolean => stateParts.every((part) => (page[part] ?? []).length === 0)

const fileName = 'state.log'
/** Bytes that changes may add, or as many as the whole state has, before SavedState compacts the file. */
const defaultMaxAdded = 4 * 1024 * 1024
const itemsPerPage = 500

/**
 * The desired state on disk, one page per line: a node that starts while the shop is away serves from it. It is
 * replaced by the first whole read.
 */
export class SavedState {
  private readonly path: string
  /** Named by process: two processes of one node may write at the same time. */
  private readonly draft: string
  private readonly limitedLog
  private descriptor: number | undefined
  private readonly maxAdded
  private wholeBytes = 0
  private addedBytes = 0
  private isOver = false

  constructor(
    private readonly deps: {
      readonly folder: string
      readonly timing: Timing
      readonly log: NodeLog
      readonly maxAdded?: number
    },
  ) {
    this.path = join(deps.folder, fileName)
    this.draft = join(deps.folder, `${fileName}.new-${process.pid}`)
    removeDrafts(deps.folder)
    this.limitedLog = createLimitedLog(deps.log, deps.timing.now)
    this.maxAdded = deps.maxAdded ?? defaultMaxAdded
  }

  /** Saves a page; a full disk is only logged. */
  note(page: StatePage, position: PagePosition): void {
    // An empty page is a long poll that timed out.
    if (this.isOver || (!position.isWhole && isEmpty(page))) return
    try {
      this.write(page, position)
    } catch (error) {
      this.limitedLog('warn', 'state not saved', { fault: error })
      this.closeFile()
    }
  }

  /** Stops saving: another process of this node saves from now on. */
  close(): void {
    this.isOver = true
    this.closeFile()
  }

  private closeFile(): void {
    if (this.descriptor !== undefined) closeSync(this.descriptor)
    this.descriptor = undefined
  }

  private openDraft(): number {
    this.closeFile()
    this.wholeBytes = 0
    this.addedBytes = 0
    this.descriptor = openOwn(this.draft, 'w')
    return this.descriptor
  }

  private write(page: StatePage, position: PagePosition): void {
    if (position.isFirst) this.openDraft()
    if (this.descriptor === undefined) return
    const bytes = writeSync(this.descriptor, `${JSON.stringify(page)}\n`)
    if (position.isWhole) this.wholeBytes += bytes
    else this.addedBytes += bytes
    if (position.isWhole && position.isLast) renameSync(this.draft, this.path)
    if (!position.isWhole && this.addedBytes > Math.max(this.maxAdded, this.wholeBytes)) this.compact()
  }

  private compact(): void {
    const draft = this.openDraft()
    for (const page of foldPages(readSavedState(this.deps.folder, this.deps.log))) {
      this.wholeBytes += writeSync(draft, `${JSON.stringify(page)}\n`)
    }
    renameSync(this.draft, this.path)
  }
}

function removeDrafts(folder: string): void {
  for (const name of readdirSync(folder)) {
    const pid = /^state\.log\.new-(\d+)$/.exec(name)?.[1]
    if (pid === undefined) continue
    try {
      process.kill(Number(pid), 0)
    } catch {
      rmSync(join(folder, name), { force: true })
    }
  }
}

/** Saved pages in order, without a torn last line. */
export function readSavedState(folder: string, log: NodeLog): StatePage[] {
  const pages: StatePage[] = []
  for (const line of (findFile(join(folder, fileName)) ?? '').split('\n')) {
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
  const latest = stateParts.map((part) => {
    const items = new Map<number | string, StateItem>(
      pages.flatMap((page) => (page[part] ?? []).map((each) => [each.id, each] as const)),
    )
    return [part, [...items.values()].filter((each) => !isGone(each))] as const
  })
  const max = Math.max(1, ...latest.map(([, items]) => items.length))
  return Array.from({ length: Math.ceil(max / itemsPerPage) }, (_, index) => ({
    ...last,
    ...Object.fromEntries(
      latest.map(([part, items]) => [part, items.slice(index * itemsPerPage, (index + 1) * itemsPerPage)]),
    ),
  }))
}

type StateItem = { id: number | string; gone?: boolean; drained?: boolean; state?: string }

/** Whether the shop has removed the item; each kind marks this with its own field. */
const isGone = (item: StateItem): boolean =>
  item.gone === true || item.drained === true || item.state === 'gone' || item.state === 'deleted'
