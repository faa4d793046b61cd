import { closeSync, mkdirSync, openSync, readdirSync, readSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { maxInReport } from '../../node-protocol/limits.ts'
import type { ReportBody } from '../../node-protocol/report.ts'
import { journalName, type KeptCounts, readRecords, saltOf } from './journal.ts'
import { type Chance, growingPause, type NodeLog, type Timing } from './runtime.ts'
import { LinkError, type ShopLink } from './shop-link.ts'

/** Longer journals are read up to here. */
const maxJournalBytes = 256 * 1024 * 1024
const maxJournals = 10_000
const maxBadAnswers = 8

/** Boots with a journal, oldest first; with `boot`, only earlier ones: a later boot is alive. */
export function listEarlier(folder: string, boot?: string): string[] {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return readdirSync(folder)
    .flatMap((name) => /^journal-([0-9a-z_-]{8,64})\.log$/.exec(name)?.[1] ?? [])
    .filter((each) => boot === undefined || each < boot)
    .toSorted()
}

/** Removes half-written journal rewrites of dead boots. */
async function removeDrafts(folder: string, boot: string, isAlive: IsAlive): Promise<void> {
  for (const name of readdirSync(folder)) {
    const of = /^journal-([0-9a-z_-]{8,64})\.log\.new$/.exec(name)?.[1]
    if (of !== undefined && of < boot && !(await isAlive(of))) rmSync(join(folder, name), { force: true })
  }
}

type IsAlive = (boot: string) => Promise<boolean>

export function readJournal(folder: string, node: string, boot: string): { counts: KeptCounts; damaged: number } {
  return readRecords(readStart(join(folder, journalName(boot))), saltOf(node, boot))
}

function readStart(path: string): string {
  const fd = openSync(path, 'r')
  try {
    const decoder = new TextDecoder()
    const piece = new Uint8Array(1024 * 1024)
    let text = ''
    for (let done = 0; done < maxJournalBytes; ) {
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

function toReports(boot: string, version: string, counts: KeptCounts): ReportBody[] {
  const longest = Math.max(counts.proxies.length, counts.subusers.length, counts.peers.length)
  return Array.from({ length: Math.ceil(longest / maxInReport) }, (_, index) => {
    const from = index * maxInReport
    const part = <T>(all: readonly T[]): T[] => all.slice(from, from + maxInReport)
    return {
      boot,
      version,
      proxies: part(counts.proxies),
      subusers: part(counts.subusers),
      peers: part(counts.peers),
      lease_requests: [],
      hosts: [],
      sources: [],
    }
  })
}

/**
 * Reports the journals of dead boots and deletes each one that the shop accepts. Runs before the first lease request,
 * which closes earlier boots. Returns whether none is left.
 */
export async function sendEarlier(deps: {
  readonly folder: string
  readonly node: string
  readonly boot: string
  readonly version: string
  readonly link: Pick<ShopLink, 'report'>
  readonly timing: Timing
  readonly chance: Chance
  readonly log: NodeLog
  readonly end: AbortSignal
  /** Whether a boot still runs beside this one; by default none does. */
  readonly isAlive?: IsAlive
}): Promise<boolean> {
  const { folder, log, end, isAlive = async () => false } = deps
  let isAllTaken = true
  const earlier = listEarlier(folder, deps.boot).slice(0, maxJournals)
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
    else log.error('journal not taken', { boot, explanation: 'The shop refuses these counts. The node keeps them.' })
  }
  return isAllTaken
}

/** Retries until the shop accepts the report or has rejected it too often. */
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
      if (badAnswers >= maxBadAnswers) return false
      if (failures === 1) deps.log.warn('earlier counts not taken yet', { boot: report.boot, fault: error })
      await deps.timing.pause(growingPause(failures, 100, 5_000, deps.chance), deps.end)
    }
  }
  return false
}
