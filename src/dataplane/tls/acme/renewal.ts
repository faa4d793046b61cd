import { join } from 'node:path'
import type { Log } from '../../../core/log.ts'
import type { Clock } from '../../../core/time.ts'
import { findFile, writeOwnFile } from '../../agent/own-file.ts'
import { parseJson } from '../../agent/runtime.ts'
import { acmeFiles, BadCertificate, type Certificate, readFiles, writeFiles } from '../certificate.ts'
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
  const requestedMs = problem.retryAfterMs ?? 0
  return Math.max(usual, requestedMs, problem.kind === 'rateLimited' ? limitedPauseMs : 0)
}

/** Saved, so that restarts do not reset the backoff. */
type Backoff = { readonly failures: number; readonly nextAt: number }

const backoffFileIn = (folder: string): string => join(folder, 'attempts.json')

export const failuresIn = (folder: string): number => readBackoff(folder).failures

/** Keeps a certificate in a folder and renews it from an ACME authority. The backoff is saved in the folder. */
export class Renewal {
  private readonly files: ReturnType<typeof acmeFiles>
  private backoff: Backoff
  private running: Promise<void> | undefined
  private isStopped = false
  private readonly timer: ReturnType<typeof setInterval>

  constructor(
    private readonly deps: {
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
    },
  ) {
    this.files = acmeFiles(deps.folder)
    this.backoff = readBackoff(deps.folder)
    this.timer = setInterval(() => void this.look(), lookEveryMs)
    this.timer.unref()
  }

  /** Renews if due. For the timer and for tests. */
  look(): Promise<void> {
    this.running ??= this.renewIfDue().finally(() => {
      this.running = undefined
    })
    return this.running
  }

  get failures(): number {
    return this.backoff.failures
  }

  async stop(): Promise<void> {
    this.isStopped = true
    clearInterval(this.timer)
    // An interrupted order is repeated later.
    await Promise.race([this.running, Bun.sleep(1000)])
  }

  private findCertificate(): Certificate | undefined {
    const [cert, key] = [findFile(this.files.cert), findFile(this.files.key)]
    if (cert === undefined || key === undefined) return undefined
    try {
      return readFiles(this.files)
    } catch (error) {
      if (error instanceof BadCertificate) return undefined
      throw error
    }
  }

  /** The saved account, unless it belongs to another authority. */
  private async account(): Promise<AcmeAccount> {
    const { authority, contact, directory, folder } = this.deps
    const file = join(folder, 'account.json')
    const kept = fieldsOf(parseJson(findFile(file) ?? ''))
    const isOurs = kept['directory'] === directory && typeof kept['key'] === 'string'
    const key = isOurs ? readAccountKey(String(kept['key'])) : makeAccountKey()
    // Repeated each time: reports a deactivated account or changed terms.
    const opened = await openAccount(authority, key, contact)
    writeOwnFile(file, `${JSON.stringify({ directory, url: opened.url, key: key.pem })}\n`)
    return opened
  }

  private saveBackoff(next: Backoff): void {
    this.backoff = next
    const text = JSON.stringify({ failures: next.failures, next_at: next.nextAt })
    writeOwnFile(backoffFileIn(this.deps.folder), `${text}\n`)
  }

  private async renew(): Promise<void> {
    const { authority, names, challenges, pollMs, clock } = this.deps
    const failures = this.backoff.failures + 1
    // Saved before the attempt: a process that dies meanwhile does not retry at once.
    this.saveBackoff({ failures, nextAt: clock() + pauseAfter(failures, undefined) })
    const made = await orderCertificate(authority, await this.account(), names, challenges, pollMs)
    writeFiles(this.files, made)
    this.saveBackoff({ failures: 0, nextAt: 0 })
    this.deps.log.info('certificate renewed', { names: made.names, until: new Date(made.endsAt).toISOString() })
    this.deps.onRenewed()
  }

  private async renewIfDue(): Promise<void> {
    const certificate = this.findCertificate()
    const dueAt = Math.max(renewAt(certificate, this.deps.names), this.backoff.nextAt)
    if (this.isStopped || this.deps.clock() < dueAt) return
    try {
      await this.renew()
    } catch (error) {
      const pauseMs = pauseAfter(this.backoff.failures, error)
      this.saveBackoff({ failures: this.backoff.failures, nextAt: this.deps.clock() + pauseMs })
      const left = certificate && Math.floor((certificate.endsAt - this.deps.clock()) / 86_400_000)
      this.deps.log.error('certificate not renewed', {
        names: this.deps.names,
        reason: error instanceof Error ? error.message : String(error),
        failures: this.backoff.failures,
        again_in_ms: pauseMs,
        explanation:
          'Each name must resolve to this machine, and the authority must reach its port 80. Correct that, delete ' +
          `${backoffFileIn(this.deps.folder)} and restart to try at once.`,
        ...(left !== undefined && { days_left: left }),
      })
    }
  }
}

function readBackoff(folder: string): Backoff {
  const { failures, next_at: nextAt } = fieldsOf(parseJson(findFile(backoffFileIn(folder)) ?? ''))
  const isGood = Number.isSafeInteger(failures) && Number.isFinite(nextAt)
  return isGood ? { failures: Number(failures), nextAt: Number(nextAt) } : { failures: 0, nextAt: 0 }
}
