import { join } from 'node:path'
import type { Log } from '../../../core/log.ts'
import type { Clock } from '../../../core/time.ts'
import { findFile, writeOwnFile } from '../../agent/own-file.ts'
import { acmeFiles, BadCertificate, type Certificate, readCertificate } from '../certificate.ts'
import {
  type Account,
  AcmeProblem,
  type Authority,
  type Challenges,
  makeAccountKey,
  openAccount,
  orderCertificate,
  readAccountKey,
} from './client.ts'

const minuteMs = 60_000
/** After a failure it is tried again in two minutes, then in four, and at most twice a day. */
const firstPauseMs = 2 * minuteMs
const mostPauseMs = 12 * 60 * minuteMs
/** Whoever was told that it asks too often leaves the authority alone for an hour at least. */
const limitedPauseMs = 60 * minuteMs
const lookEveryMs = 30_000

/** When the next certificate is to be asked for: with a third of its life left, or now if it is not for these names. */
export function renewAt(certificate: Certificate | undefined, names: readonly string[]): number {
  if (!certificate || names.some((name) => !certificate.names.includes(name))) return 0
  return certificate.endsAt - (certificate.endsAt - certificate.beginsAt) / 3
}

/** How long to wait after so many failures one after another. */
export function pauseAfter(failures: number, problem: unknown): number {
  const usual = Math.min(mostPauseMs, firstPauseMs * 2 ** Math.min(failures - 1, 20))
  if (!(problem instanceof AcmeProblem)) return usual
  const asked = problem.retryAfterMs ?? 0
  return Math.max(usual, asked, problem.kind === 'rateLimited' ? limitedPauseMs : 0)
}

/** What a run before has left: how often it has failed, and until when it leaves the authority alone. */
type Restraint = { readonly failures: number; readonly nextAt: number }

const restraintFileIn = (folder: string): string => join(folder, 'attempts.json')

/** How often in a row whoever keeps this folder was given no certificate. */
export const failuresIn = (folder: string): number => readRestraint(findFile(restraintFileIn(folder))).failures

export type Renewal = {
  readonly failures: number
  /** Does what is due now, and returns when it is done or has failed. For the loop, and for tests. */
  look(): Promise<void>
  stop(): Promise<void>
}

/**
 * Keeps a certificate in a folder: asks an authority for one when there is none or two thirds of its life are over.
 * How often it has failed outlives this process, so that one that is started again and again does not ask as often.
 */
export function keepRenewed(deps: {
  readonly folder: string
  readonly names: readonly string[]
  readonly directory: string
  readonly contact: string | undefined
  readonly authority: Authority
  readonly challenges: Challenges
  readonly clock: Clock
  readonly log: Log
  /** How often an authority that works is asked whether it is done; twice a second unless given. */
  readonly pollMs?: number
  /** There is a new one in the files. */
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

  /** The account of this authority; one of another authority is of no use here. */
  async function account(): Promise<Account> {
    const kept = readKept(findFile(accountFile))
    const key = kept?.directory === deps.directory ? readAccountKey(kept.key) : makeAccountKey()
    // Asked for each time: who was deactivated, or has agreed to other terms meanwhile, is told so here.
    const opened = await openAccount(deps.authority, key, deps.contact)
    writeOwnFile(accountFile, `${JSON.stringify({ directory: deps.directory, url: opened.url, key: key.pem })}\n`)
    return opened
  }

  function restrain(next: Restraint): void {
    restraint = next
    writeOwnFile(restraintFile, `${JSON.stringify({ failures: next.failures, next_at: next.nextAt })}\n`)
  }

  async function renew(): Promise<void> {
    // Written before it is asked: a process that dies while it asks does not ask at once again.
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
      // An order takes as long as the authority does; what it would have brought is asked for again.
      await Promise.race([running, sleep(1000)])
    },
  }
}

const sleep = (ms: number): Promise<void> => Bun.sleep(ms)

function readRestraint(text: string | undefined): Restraint {
  const { failures, next_at: nextAt } = parse(text)
  const isGood = Number.isSafeInteger(failures) && Number.isFinite(nextAt)
  return isGood ? { failures: Number(failures), nextAt: Number(nextAt) } : { failures: 0, nextAt: 0 }
}

function readKept(text: string | undefined): { readonly directory: string; readonly key: string } | undefined {
  const { directory, key } = parse(text)
  return typeof directory === 'string' && typeof key === 'string' ? { directory, key } : undefined
}

function parse(text: string | undefined): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? '{}')
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
