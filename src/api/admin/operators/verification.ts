import {
  type Finding,
  maxFindings,
  note,
  sayVerdict,
  type Verifier,
  type VerifyOutcome,
  verifyAll,
} from '../../../core/finding.ts'
import { Refusal } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import { isClean, verifyPart } from '../../../core/verify-parts.ts'
import type { Condition } from '../../../domains/alerts/rules.ts'
import { createKeptVerifier } from '../../../domains/ledger/index.ts'
import { type AnswerLanguage, findingSentencesOf } from '../../language.ts'
import type { AdminDeps } from '../bind.ts'
import * as shapes from './shapes.ts'

type Asked = {
  readonly against: readonly { readonly number?: number | undefined; readonly hash: string }[]
  readonly part: boolean
}

/** SQLite checks its file in the process of the shop, which answers nothing else meanwhile. */
const limitedMs = { whole: 10 * 60_000, part: 30_000 }

/** For `settle`: no alert ends. */
const never = Number.POSITIVE_INFINITY

/** One alert for each promise that is broken. */
const findingAlerts = (findings: readonly Finding[]): Condition[] =>
  [...Map.groupBy(findings, (each) => each.promise)].map(([promise, of]) => ({
    type: 'verify.finding',
    subject: promise,
    data: { promise, count: of.length },
  }))

type OnPart = (part: string) => (done: number) => void

/** Raises alerts, and ends those that no run has found again for so long. */
const settle = ({ alerts, onFault }: AdminDeps, findings: readonly Finding[], absentMs: number): Promise<void> =>
  // A database that takes no alert is no reason to hide what was found.
  alerts.settle(['verify.finding'], findingAlerts(findings), absentMs).catch(onFault)

/** A part raises alerts. It ends one only with a whole round that has found nothing since the alert was last seen. */
async function verifyNextPart(deps: AdminDeps, verifiers: readonly Verifier[], onPart: OnPart): Promise<VerifyOutcome> {
  let [walk, done, told] = ['', 0, 0]
  const { findings, covered, progress, isRoundDone } = await verifyPart(verifiers, {
    progress: deps.verifyProgress.read(),
    clock: deps.clock,
    async save(next, found) {
      // Before the position: an interrupted part continues behind what it has found.
      if (found.length > told) await settle(deps, found, never)
      told = found.length
      deps.verifyProgress.save(next)
    },
    onStep(name, rows) {
      done = name === walk ? done + rows : rows
      walk = name
      onPart(walk)(done)
    },
  })
  const ok = isClean(progress)
  if (isRoundDone && ok) await settle(deps, [], deps.clock() - progress.roundAt)
  const isOfEarlier = findings.length === 0 && !ok
  return {
    ok,
    findings: findings.slice(0, maxFindings),
    found: isOfEarlier ? Math.max(progress.found, progress.lastFound) : findings.length,
    covered,
    notes: isOfEarlier ? [note('found_by_earlier_part')] : [],
  }
}

async function verifyWhole(deps: AdminDeps, verifiers: readonly Verifier[], onPart: OnPart): Promise<VerifyOutcome> {
  const outcome = await verifyAll(verifiers, onPart)
  const { findings, found } = outcome
  await settle(deps, findings, found > findings.length ? never : 0)
  const progress = deps.verifyProgress.read()
  // The next parts know what this run has found. It writes only what differs: the file may belong to another user.
  if (progress && (progress.found !== found || progress.lastFound !== 0)) {
    try {
      deps.verifyProgress.save({ ...progress, found, lastFound: 0 })
    } catch (fault) {
      deps.onFault(fault)
    }
  }
  return outcome
}

/** Refuses a start too soon after the last one of its kind. A clock that went back is no reason to wait. */
function assertMayStart(kind: keyof typeof limitedMs, lastAt: number | undefined, nowMs: number): void {
  if (lastAt === undefined || nowMs < lastAt) return
  const leftMs = limitedMs[kind] - (nowMs - lastAt)
  if (leftMs > 0) throw new Refusal('verification_too_soon', {}, { charged: false }, Math.ceil(leftMs / 1000))
}

/** Verification in the background, one run at a time; keeps the result of the last run. */
export function createVerification(deps: AdminDeps) {
  let run: shapes.VerificationRun = shapes.noRun
  let verdict: VerifyOutcome | undefined
  const startedAt: { whole?: number; part?: number } = {}

  const onPart = (part: string) => {
    run = { ...run, part, done: 0 }
    return (done: number) => {
      run = { ...run, done }
    }
  }

  async function work(verifiers: readonly Verifier[], isPart: boolean): Promise<void> {
    try {
      verdict = await (isPart ? verifyNextPart : verifyWhole)(deps, verifiers, onPart)
      run = { ...run, state: 'done', part: null, ended_at: toIso(deps.clock()) }
    } catch (fault) {
      run = { ...run, state: 'failed', ended_at: toIso(deps.clock()) }
      deps.onFault(fault)
    }
  }

  return {
    show: (language: AnswerLanguage): shapes.VerificationRun => ({
      ...run,
      ...(verdict && sayVerdict(verdict, findingSentencesOf[language])),
    }),

    /** Starts a run once it has its entry in the audit log. */
    async start(
      { against, part }: Asked,
      { isLimited, enter }: { readonly isLimited: boolean; readonly enter: () => Promise<void> },
    ): Promise<void> {
      if (run.state === 'running') throw new Refusal('verification_running')
      const kind = part ? 'part' : 'whole'
      if (isLimited) assertMayStart(kind, startedAt[kind], deps.clock())
      const before = { run, verdict }
      verdict = undefined
      run = { ...shapes.noRun, state: 'running', started_at: toIso(deps.clock()) }
      try {
        await enter()
      } catch (error) {
        run = before.run
        verdict = before.verdict
        throw error
      }
      startedAt[kind] = deps.clock()
      const kept = against.map(({ number, hash }) => ({ number, hash: hash.toLowerCase() }))
      const also = kept.length === 0 ? [] : [createKeptVerifier(deps.ledgerAudit, kept)]
      void work([...deps.verifiers, ...also], part)
    },
  }
}
