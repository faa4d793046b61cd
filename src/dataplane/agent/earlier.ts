import { closeSync, mkdirSync, openSync, readdirSync, readSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { mostInReport, type ReportBody } from '../../node-protocol/report.ts'
import { journalName, type KeptCounts, readRecords, saltOf } from './journal.ts'
import { type Chance, growingPause, type Log, type Timing } from './runtime.ts'
import { LinkError, type ShopLink } from './shop-link.ts'

/** Journals are kept far shorter than this; what lies beyond is not read. */
const mostJournalBytes = 256 * 1024 * 1024
/** A node that dies over and over makes a journal each time that it has carried something. */
const mostJournals = 10_000
const firstPauseMs = 100
const mostPauseMs = 5_000
/** How often a shop that cannot make sense of one report is asked to take it, before the node goes on without. */
const mostBadAnswers = 8

/**
 * The boots before this one that left a journal, oldest first; without one, all of them. A later boot's journal is not
 * touched: it is alive, and this process is the one that was replaced.
 */
export function listEarlier(folder: string, boot?: string): string[] {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return readdirSync(folder)
    .flatMap((name) => /^journal-([0-9a-z_-]{8,64})\.log$/.exec(name)?.[1] ?? [])
    .filter((each) => boot === undefined || each < boot)
    .toSorted()
}

/** Boots that died in the middle of rewriting a journal left a part of the new one; the old one is whole. */
async function removeDrafts(folder: string, boot: string, isAlive: IsAlive): Promise<void> {
  for (const name of readdirSync(folder)) {
    const of = /^journal-([0-9a-z_-]{8,64})\.log\.new$/.exec(name)?.[1]
    if (of !== undefined && of < boot && !(await isAlive(of))) rmSync(join(folder, name), { force: true })
  }
}

type IsAlive = (boot: string) => Promise<boolean>
const nobody: IsAlive = async () => false

export function readJournal(folder: string, node: string, boot: string): { counts: KeptCounts; damaged: number } {
  return readRecords(readStart(join(folder, journalName(boot))), saltOf(node, boot))
}

function readStart(path: string): string {
  const fd = openSync(path, 'r')
  try {
    const decoder = new TextDecoder()
    const piece = new Uint8Array(1024 * 1024)
    let text = ''
    for (let done = 0; done < mostJournalBytes; ) {
      const taken = readSync(fd, piece, 0, piece.length, done)
      if (taken === 0) break
      done += taken
      text += decoder.decode(piece.subarray(0, taken), { stream: true })
    }
    return text + decoder.decode()
  } finally {
    closeSync(fd)
  }
}

/** The counts of an earlier boot as reports, without wishes: it wants nothing any more. */
function toReports(boot: string, version: string, counts: KeptCounts): ReportBody[] {
  const longest = Math.max(counts.proxies.length, counts.subusers.length, counts.peers.length)
  return Array.from({ length: Math.ceil(longest / mostInReport) }, (_, index) => {
    const from = index * mostInReport
    const part = <T>(all: readonly T[]): T[] => all.slice(from, from + mostInReport)
    return {
      boot,
      version,
      proxies: part(counts.proxies),
      subusers: part(counts.subusers),
      peers: part(counts.peers),
      wishes: [],
      hosts: [],
      sources: [],
    }
  })
}

/**
 * Tells the shop what earlier boots have carried and removes each journal once it is taken. This comes before the first
 * wish, because that wish closes the earlier boots: what they carried on a lapsed lease could not be claimed any more.
 * A journal that the shop cannot make sense of stays, and so does that of a boot that is alive: it tells its counts
 * itself, unless it dies. Returns whether none is left.
 */
export async function sendEarlier(deps: {
  readonly folder: string
  readonly node: string
  readonly boot: string
  readonly version: string
  readonly link: Pick<ShopLink, 'report'>
  readonly timing: Timing
  readonly chance: Chance
  readonly log: Log
  readonly end: AbortSignal
  /** Whether a boot is a process that runs beside this one; nobody does unless said. */
  readonly isAlive?: IsAlive
}): Promise<boolean> {
  const { folder, log, end, isAlive = nobody } = deps
  let isAllTaken = true
  const earlier = listEarlier(folder, deps.boot).slice(0, mostJournals)
  await removeDrafts(folder, deps.boot, isAlive)
  for (const boot of earlier) {
    if (await isAlive(boot)) {
      isAllTaken = false
      continue
    }
    const { counts, damaged } = readJournal(folder, deps.node, boot)
    if (damaged > 0) log.warn('journal damaged', { boot, records_ignored: damaged })
    let isTaken = true
    for (const report of toReports(boot, deps.version, counts)) {
      isTaken = (await sendOne(deps, report)) && isTaken
      if (end.aborted) return false
    }
    isAllTaken &&= isTaken
    if (isTaken) rmSync(join(folder, journalName(boot)), { force: true })
    else log.error('journal not taken', { boot })
  }
  return isAllTaken
}

/**
 * Asks until the shop takes it. While there is no answer at all there is no hurry: no wish could be answered either.
 */
async function sendOne(
  deps: Pick<Parameters<typeof sendEarlier>[0], 'link' | 'timing' | 'chance' | 'log' | 'end'>,
  report: ReportBody,
): Promise<boolean> {
  let badAnswers = 0
  for (let failures = 1; !deps.end.aborted; failures += 1) {
    try {
      await deps.link.report(report, deps.end)
      return true
    } catch (error) {
      if (!(error instanceof LinkError)) throw error
      if (error.blamesRequest) badAnswers += 1
      if (badAnswers >= mostBadAnswers) return false
      if (failures === 1) deps.log.warn('earlier counts not taken yet', { boot: report.boot, fault: error })
      await deps.timing.pause(growingPause(failures, firstPauseMs, mostPauseMs, deps.chance), deps.end)
    }
  }
  return false
}
