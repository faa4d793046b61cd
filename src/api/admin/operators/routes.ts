import { maxFindings, sayVerdict, type Verifier, type VerifyOutcome, verifyAll } from '../../../core/finding.ts'
import { readId } from '../../../core/ids.ts'
import { Refusal } from '../../../core/refusal.ts'
import { readIso, toIso } from '../../../core/time.ts'
import { verifyPart } from '../../../core/verify-parts.ts'
import type { Condition } from '../../../domains/alerts/rules.ts'
import { createKeptVerifier } from '../../../domains/ledger/index.ts'
import type { Entry } from '../../../domains/operators/rules.ts'
import { orRefuse, orRefuseField } from '../../answers.ts'
import { type AnswerLanguage, findingSentencesOf } from '../../language.ts'
import { pageOf, positionOf, readNumber, soughtFor } from '../../pages.ts'
import { type AdminDeps, type BindAdmin, type Invited, namesOf } from '../bind.ts'
import * as shapes from './shapes.ts'

export function adminOperatorOperations(bind: BindAdmin, deps: AdminDeps) {
  const { operators } = deps
  const toInvited = ({ operator, text, expiresAt }: Invited) => ({
    ...shapes.toOperator(operator),
    link: `${deps.publicUrl()}/operator#enter=${text}`,
    expires_at: toIso(expiresAt),
  })
  return [
    bind(shapes.listOperators, async () => ({ items: (await operators.list()).map(shapes.toOperator) })),
    bind(shapes.addOperator, async ({ body }) => toInvited(await deps.addOperator(body.name, body.role))),
    bind(shapes.linkOperator, async ({ params }) => toInvited(await deps.inviteOperator(params.operator))),
    bind(shapes.setOperatorRole, async ({ params, body }) =>
      shapes.toOperator(await deps.setOperatorRole(params.operator, body.role)),
    ),
    bind(shapes.removeOperator, async ({ params }) => {
      const { name } = await deps.removeOperator(params.operator)
      return { name, removed: true }
    }),
    bind(shapes.listOperatorTokens, async ({ params }) => ({
      items: (await operators.listTokens(params.operator)).map(shapes.toOperatorToken),
    })),
    bind(shapes.createOperatorToken, async ({ params, body }) => {
      const expiresAt = body.expires_at === undefined ? null : (readIso(body.expires_at) ?? null)
      const { text, token } = await operators.issueToken(params.operator, { name: body.name, expiresAt })
      return { ...shapes.toOperatorToken(token), token: text }
    }),
    bind(shapes.revokeOperatorToken, async ({ params }) => {
      const id = orRefuse(readId('operator_token', params.token_id), 'token_not_found')
      await deps.revokeOperatorToken(id)
      return { token_id: id, revoked: true }
    }),
    bind(shapes.listAuditLog, async ({ query }) => {
      const { operator_id: id } = query
      const operator =
        id === undefined ? undefined : orRefuseField(readId('operator', id), 'operator_id', 'id', { prefix: 'opr' })
      const before = positionOf(query.cursor, readNumber)
      const found = await operators.log({ before, operator, action: query.action, limit: soughtFor(query.limit) })
      const concerned = (entry: Entry): string => {
        const { customer_id: customer } = shapes.readRequest(entry)
        return typeof customer === 'string' ? customer : ''
      }
      const nameIn = await namesOf(
        deps,
        found.map(concerned).filter((customer) => customer !== ''),
      )
      return pageOf(found, query.limit, 'seq', (each) => shapes.toEntry(each, nameIn(concerned(each)) || undefined))
    }),
    ...bookOperations(bind, deps),
  ]
}

function bookOperations(bind: BindAdmin, deps: AdminDeps) {
  const verification = createVerification(deps)
  return [
    bind(shapes.startVerify, async ({ body, language }) => {
      verification.start(body.against, body.part)
      return verification.show(language)
    }),
    bind(shapes.getVerify, async ({ language }) => verification.show(language)),
    bind(shapes.makeCheckpoint, async () => {
      const made = await deps.ledgerAudit.makeCheckpoint()
      if (!made) return { checkpoint: null }
      const { number, accounts, postings } = made
      const hash = made.hash.toHex()
      await deps.keepCheckpoint({ number, hash, madeAt: toIso(made.madeAt) })
      return { checkpoint: { number, accounts, postings, hash } }
    }),
  ]
}

/** One alert for each promise that is broken. */
const findingAlerts = ({ findings }: VerifyOutcome): Condition[] =>
  [...Map.groupBy(findings, (each) => each.promise)].map(([promise, of]) => ({
    type: 'verify.finding',
    subject: promise,
    data: { promise, count: of.length },
  }))

/** Verification in the background, one run at a time; keeps the result of the last run. */
function createVerification(deps: AdminDeps) {
  let run: shapes.VerificationRun = shapes.noRun
  let verdict: VerifyOutcome | undefined

  const onPart = (part: string) => {
    run = { ...run, part, done: 0 }
    return (done: number) => {
      run = { ...run, done }
    }
  }

  async function verifyNextPart(verifiers: readonly Verifier[]): Promise<VerifyOutcome> {
    let [walk, done] = ['', 0]
    const { findings, covered } = await verifyPart(verifiers, {
      progress: deps.verifyProgress.read(),
      clock: deps.clock,
      save: deps.verifyProgress.save,
      onStep(name, rows) {
        done = name === walk ? done + rows : rows
        walk = name
        onPart(walk)(done)
      },
    })
    return {
      ok: findings.length === 0,
      findings: findings.slice(0, maxFindings),
      found: findings.length,
      covered,
      notes: [],
    }
  }

  async function work(verifiers: readonly Verifier[], isPart: boolean): Promise<void> {
    try {
      verdict = await (isPart ? verifyNextPart(verifiers) : verifyAll(verifiers, onPart))
      // A database that takes no alert is no reason to hide what was found.
      await deps.alerts.settle(['verify.finding'], findingAlerts(verdict), 0).catch(deps.onFault)
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

    start(against: readonly { readonly number?: number | undefined; readonly hash: string }[], isPart: boolean): void {
      if (run.state === 'running') throw new Refusal('verification_running')
      verdict = undefined
      run = { ...shapes.noRun, state: 'running', started_at: toIso(deps.clock()) }
      const kept = against.map(({ number, hash }) => ({ number, hash: hash.toLowerCase() }))
      const also = kept.length === 0 ? [] : [createKeptVerifier(deps.ledgerAudit, kept)]
      void work([...deps.verifiers, ...also], isPart)
    },
  }
}
