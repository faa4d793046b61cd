import { readId } from '../../../core/ids.ts'
import { readIso, toIso } from '../../../core/time.ts'
import type { Entry } from '../../../domains/operators/rules.ts'
import { orRefuse, orRefuseField } from '../../answers.ts'
import { pageOf, positionOf, readNumber, soughtFor } from '../../pages.ts'
import { type AdminDeps, type BindAdmin, type Invited, namesOf, requestTextOf } from '../bind.ts'
import * as shapes from './shapes.ts'
import { createVerification } from './verification.ts'

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
    bind(shapes.startVerify, async (call) => {
      const { body, language, caller } = call
      const { actor } = caller
      // The command works on the database of the settings, which may be closed: it only reads.
      const isCommand = actor.operator === null
      await verification.start(body, {
        isLimited: !isCommand && deps.isBlockedByVerify,
        enter: () =>
          isCommand
            ? Promise.resolve()
            : deps.mustNote({ actor, operation: shapes.startVerify.id, request: requestTextOf(call) }),
      })
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
