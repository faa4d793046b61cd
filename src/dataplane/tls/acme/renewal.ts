import { join } from 'node:path'
import type { Log } from '../../../core/log.ts'
import type { Clock } from '../../../core/time.ts'
import { findFile, writeOwnFile } from '../../agent/own-file.ts'
import { parseJson } from '../../agent/runtime.ts'
import { acmeFiles, BadCertificate, type Certificate, readCertificate } from '../certificate.ts'
import {
  type AcmeAccount,
  AcmeProblem,
  type Authority,
  type Challenges,
  fieldsOf,
  makeAccountKey,
  openAccount,
  orderCertificate,
  readAccountKey,
} from './client.ts'

const minuteMs = 60_000
/** Backoff: two minutes, doubling up to twelve hours. */
const firstPauseMs = 2 * minuteMs
const maxPauseMs = 12 * 60 * minuteMs
const limitedPauseMs = 60 * minuteMs
const lookEveryMs = 30_000

/** With a third of its life left, or now if a name is missing. */
export function renewAt(certificate: Certificate | undefined, names: readonly string[]): number {
  if (!certificate || names.some((name) => !certificate.names.includes(name))) return 0
  return certificate.endsAt - (certificate.endsAt - certificate.beginsAt) / 3
}

export function pauseAfter(failures: number, problem: unknown): number {
  const usual = Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(failures - 1, 20))
  if (!(problem instanceof AcmeProblem)) return usual
  const asked = problem.retryAfterMs ?? 0
  return Math.max(usual, asked, problem.kind === 'rateLimited' ? limitedPauseMs : 0)
}

/** Saved, so that restarts do not reset the backoff. */
type Restraint = { readonly failures: number; readonly nextAt: number }

const restraintFileIn = (folder: string): string => join(folder, 'attempts.json')

export const failuresIn = (folder: string): number => readRestraint(findFile(restraintFileIn(folder))).failures

export type Renewal = {
  readonly failures: number
  /** Renews if due. For the timer and for tests. */
  look(): Promise<void>
  stop(): Promise<void>
}

/** Keeps a certificate in a folder and renews it from an ACME authority. The backoff is saved in the folder. */
export function keepRenewed(deps: {
  readonly folder: string
  readonly names: readonly string[]
  readonly directory: string
  readonly contact: string | undefined
  readonly authority: Authority
  readonly challenges: Challenges
  readonly clock: Clock
  readonly log: Log
  readonly pollMs?: number
  readonly onRenewed: () => void
}): Renewal {
  const { folder, names, clock, log } = deps
  const files = acmeFiles(folder)
  const accountFile = join(folder, 'account.json')
  const restraintFile = restraintFileIn(folder)
  let restraint = readRestraint(findFile(restraintFile))
  let running: Promise<void> | undefined
  let isStopped = false

  function findCertificate(): Certificate | undefined {
    const [cert, key] = [findFile(files.cert), findFile(files.key)]
    if (cert === undefined || key === undefined) return undefined
    try {
      return readCertificate(cert, key)
    } catch (error) {
      if (error instanceof BadCertificate) return undefined
      throw error
    }
  }

  /** The saved account, unless it belongs to another authority. */
  async function account(): Promise<AcmeAccount> {
    const kept = readKept(findFile(accountFile))
    const key = kept?.directory === deps.directory ? readAccountKey(kept.key) : makeAccountKey()
    // Repeated each time: reports a deactivated account or changed terms.
    const opened = await openAccount(deps.authority, key, deps.contact)
    writeOwnFile(accountFile, `${JSON.stringify({ directory: deps.directory, url: opened.url, key: key.pem })}\n`)
    return opened
  }

  function restrain(next: Restraint): void {
    restraint = next
    writeOwnFile(restraintFile, `${JSON.stringify({ failures: next.failures, next_at: next.nextAt })}\n`)
  }

  async function renew(): Promise<void> {
    // Saved before the attempt: a process that dies meanwhile does not retry at once.
    restrain({ failures: restraint.failures + 1, nextAt: clock() + pauseAfter(restraint.failures + 1, undefined) })
    const made = await orderCertificate(deps.authority, await account(), names, deps.challenges, deps.pollMs)
    writeOwnFile(files.key, made.key)
    writeOwnFile(files.cert, made.cert)
    restrain({ failures: 0, nextAt: 0 })
    log.info('certificate renewed', { names: made.names, until: new Date(made.endsAt).toISOString() })
    deps.onRenewed()
  }

  async function look(): Promise<void> {
    const certificate = findCertificate()
    if (isStopped || clock() < renewAt(certificate, names) || clock() < restraint.nextAt) return
    try {
      await renew()
    } catch (error) {
      const pauseMs = pauseAfter(restraint.failures, error)
      restrain({ failures: restraint.failures, nextAt: clock() + pauseMs })
      const left = certificate && Math.floor((certificate.endsAt - clock()) / 86_400_000)
      log.error('certificate not renewed', {
        names,
        reason: error instanceof Error ? error.message : String(error),
        failures: restraint.failures,
        again_in_ms: pauseMs,
        ...(left !== undefined && { days_left: left }),
      })
    }
  }

  function lookOnce(): Promise<void> {
    running ??= look().finally(() => {
      running = undefined
    })
    return running
  }

  const timer = setInterval(() => void lookOnce(), lookEveryMs)
  timer.unref()
  return {
    get failures() {
      return restraint.failures
    },
    look: lookOnce,
    async stop() {
      isStopped = true
      clearInterval(timer)
      // An interrupted order is repeated later.
      await Promise.race([running, Bun.sleep(1000)])
    },
  }
}

function readRestraint(text: string | undefined): Restraint {
  const { failures, next_at: nextAt } = fieldsOf(parseJson(text ?? ''))
  const isGood = Number.isSafeInteger(failures) && Number.isFinite(nextAt)
  return isGood ? { failures: Number(failures), nextAt: Number(nextAt) } : { failures: 0, nextAt: 0 }
}

function readKept(text: string | undefined): { readonly directory: string; readonly key: string } | undefined {
  const { directory, key } = fieldsOf(parseJson(text ?? ''))
  return typeof directory === 'string' && typeof key === 'string' ? { directory, key } : undefined
}
