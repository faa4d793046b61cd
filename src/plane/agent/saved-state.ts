import { closeSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type StatePage, statePageSchema } from '../../wire/node/state.ts'
import { parseJson } from './json.ts'
import { findFile, openOwn } from './own-file.ts'
import { createLimitedLog, type Log, type Timing } from './surroundings.ts'
import type { PagePlace } from './sync.ts'

const fileName = 'state.log'
const draftName = 'state.log.new'
/** What changes add to the file before it is begun anew with the next whole read. */
const mostBytes = 256 * 1024 * 1024

/**
 * What the shop last wanted carried, on the node's own disk, a page a line: a node that starts while the shop is away
 * serves from it. It is written as it is heard and never trusted for longer than until the shop answers, for then the
 * whole state is read anew.
 */
export function openSavedState(deps: { readonly folder: string; readonly timing: Timing; readonly log: Log }) {
  const path = join(deps.folder, fileName)
  const draft = join(deps.folder, draftName)
  const limitedLog = createLimitedLog(deps.log, deps.timing.now)
  let descriptor: number | undefined
  let written = 0

  function end(): void {
    if (descriptor !== undefined) closeSync(descriptor)
    descriptor = undefined
  }

  function write(page: StatePage, place: PagePlace): void {
    if (place.isFirst) {
      end()
      descriptor = openOwn(draft, 'w')
      written = 0
    }
    if (descriptor === undefined) return
    written += writeSync(descriptor, `${JSON.stringify(page)}\n`)
    if (place.isWhole && place.isLast) renameSync(draft, path)
    if (written <= mostBytes) return
    end()
    rmSync(path, { force: true })
  }

  return {
    /** Notes a page. A disk that is full costs the node nothing but this. */
    note(page: StatePage, place: PagePlace): void {
      // A page of a poll that waited in vain says nothing.
      if (!place.isWhole && isEmpty(page)) return
      try {
        write(page, place)
      } catch (error) {
        limitedLog('warn', 'state not saved', { fault: error })
        end()
      }
    },

    close: end,
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

const isEmpty = (page: StatePage): boolean =>
  page.ranges.length + page.proxies.length + page.subusers.length + page.exits.length + page.peers.length === 0
