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
  const requestedMs = problem.retryAfterMs ?? 0
  return Math.max(usual, requestedMs, problem.kind === 'rateLimited' ? limitedPauseMs : 0)
}

/** Saved, so that restarts do not reset the backoff. */
type Backoff = { readonly failures: number; readonly nextAt: number }

const backoffFileIn = (folder: string): string => join(folder, 'attempts.json')

export const failuresIn = (folder: string): number => readBackoff(findFile(backoffFileIn(folder))).failures

/** Keeps a certificate in a folder and renews it from an ACME authority. The backoff is saved in the folder. */
export class Renewal {
  private readonly files: ReturnType<typeof acmeFiles>
  private readonly accountFile: string
  private readonly backoffFile: string
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
    this.accountFile = join(deps.folder, 'account.json')
    this.backoffFile = backoffFileIn(deps.folder)
    this.backoff = readBackoff(findFile(this.backoffFile))
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
      return readCertificate(cert, key)
    } catch (error) {
      if (error instanceof BadCertificate) return undefined
      throw error
    }
  }

  /** The saved account, unless it belongs to another authority. */
  private async account(): Promise<AcmeAccount> {
    const kept = readKept(findFile(this.accountFile))
    const key = kept?.directory === this.deps.directory ? readAccountKey(kept.key) : makeAccountKey()
    // Repeated each time: reports a deactivated account or changed terms.
    const opened = await openAccount(this.deps.authority, key, this.deps.contact)
    writeOwnFile(
      this.accountFile,
      `${JSON.stringify({ directory: this.deps.directory, url: opened.url, key: key.pem })}\n`,
    )
    return opened
  }

  private saveBackoff(next: Backoff): void {
    this.backoff = next
    writeOwnFile(this.backoffFile, `${JSON.stringify({ failures: next.failures, next_at: next.nextAt })}\n`)
  }

  private async renew(): Promise<void> {
    // Saved before the attempt: a process that dies meanwhile does not retry at once.
    this.saveBackoff({
      failures: this.backoff.failures + 1,
      nextAt: this.deps.clock() + pauseAfter(this.backoff.failures + 1, undefined),
    })
    const made = await orderCertificate(
      this.deps.authority,
      await this.account(),
      this.deps.names,
      this.deps.challenges,
      this.deps.pollMs,
    )
    writeOwnFile(this.files.key, made.key)
    writeOwnFile(this.files.cert, made.cert)
    this.saveBackoff({ failures: 0, nextAt: 0 })
    this.deps.log.info('certificate renewed', { names: made.names, until: new Date(made.endsAt).toISOString() })
    this.deps.onRenewed()
  }

  private async renewIfDue(): Promise<void> {
    const certificate = this.findCertificate()
    if (
      this.isStopped ||
      this.deps.clock() < renewAt(certificate, this.deps.names) ||
      this.deps.clock() < this.backoff.nextAt
    )
      return
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
        ...(left !== undefined && { days_left: left }),
      })
    }
  }
}

function readBackoff(text: string | undefined): Backoff {
  const { failures, next_at: nextAt } = fieldsOf(parseJson(text ?? ''))
  const isGood = Number.isSafeInteger(failures) && Number.isFinite(nextAt)
  return isGood ? { failures: Number(failures), nextAt: Number(nextAt) } : { failures: 0, nextAt: 0 }
}

function readKept(text: string | undefined): { readonly directory: string; readonly key: string } | undefined {
  const { directory, key } = fieldsOf(parseJson(text ?? ''))
  return typeof directory === 'string' && typeof key === 'string' ? { directory, key } : undefined
}
