import { statSync } from 'node:fs'
import type { Log } from '../../core/log.ts'
import { createLimitedLog } from '../../dataplane/agent/runtime.ts'
import { createLookup, type Lookup, toFailure } from '../../dataplane/gateway/dial/resolve.ts'

const settingsFile = '/etc/resolv.conf'
const lookEveryMs = 1_000

/**
 * The resolver of a gateway: it follows changes of /etc/resolv.conf within a second, counts lookups by outcome, and
 * logs failures at most once a minute. No log entry has the name, which is a customer's destination.
 */
export function createNames(log: Pick<Log, 'info' | 'warn' | 'error'>, now: () => number = () => performance.now()) {
  const counts = { answered: 0, failed: 0 }
  const warn = createLimitedLog(log, now)
  const look = createLookup(watchFile(now))
  const lookup: Lookup = async (name, version) => {
    try {
      const found = await look(name, version)
      counts.answered += 1
      return found
    } catch (error) {
      if (toFailure(error) === 'name_not_found') {
        counts.answered += 1
      } else {
        counts.failed += 1
        const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
        const explanation = 'Customers reach no destination by name. Check the name servers in /etc/resolv.conf.'
        warn('warn', 'resolver failed', { code, explanation })
      }
      throw error
    }
  }
  return { lookup, counts }
}

/** A text that changes with the file. */
function watchFile(now: () => number): () => string {
  let version = ''
  let lookedAt = Number.NEGATIVE_INFINITY
  return () => {
    if (now() - lookedAt < lookEveryMs) return version
    lookedAt = now()
    const found = statSync(settingsFile, { throwIfNoEntry: false })
    version = found ? `${found.ino} ${found.mtimeMs} ${found.size}` : 'none'
    return version
  }
}
