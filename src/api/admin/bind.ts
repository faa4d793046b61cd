import type { Acting, Operators } from '../../domains/operators/index.ts'
import { type Actor, toRequestText } from '../../domains/operators/rules.ts'
import type { Credential, SignIn, Visitor } from '../../domains/signin/index.ts'
import { sentTokenOf } from '../answers.ts'
import { type Bound, bind, type Call } from '../bind.ts'
import { type Api } from '../http.ts'
import type { Operation, z } from '../operation.ts'
import { findShown, readSessionText, visitorOf } from '../session.ts'

/** An authenticated operator, or the command line on the shop's machine. */
export type AdminCaller = {
  readonly actor: Actor
  readonly visitor: Visitor
  readonly credential: Credential
}

export type Act = <Result>(action: Acting['action'], work: () => Promise<Result>) => Promise<Result>

/** Binds an operator's operation. Everything but a read is written to the audit log, in its own transaction. */
export type BindAdmin = <Op extends Operation>(
  operation: Op,
  run: (call: Call<Op, AdminCaller>) => Promise<z.input<Op['answer']>>,
) => Bound<AdminCaller>

/** The fields of a request, as the audit log keeps them. */
export const requestTextOf = (call: Pick<Call<Operation, AdminCaller>, 'params' | 'query' | 'body'>): string =>
  toRequestText({ ...call.params, ...call.query, ...call.body })

export const createBindAdmin =
  (act: Act): BindAdmin =>
  (operation, run) =>
    bind(operation, (call: Call<typeof operation, AdminCaller>) => {
      if (operation.isRead) return run(call)
      return act({ actor: call.caller.actor, operation: operation.id, request: requestTextOf(call) }, () => run(call))
    })

/**
 * The operators' API, called with an operator's token or in a browser session. Each operation names its minimum role.
 */
export const adminApi = (deps: {
  readonly operators: Operators
  readonly signIn: SignIn
  readonly publicUrl: () => string
  readonly bound: readonly Bound<AdminCaller>[]
}): Api<AdminCaller> => ({
  base: '/admin/v1',
  bound: deps.bound,
  profile: {
    title: 'Turnpike for operators',
    description:
      'Everything that the operator’s tool can do. Each operation names the least role that may do it in `x-role`: ' +
      '`reader` looks, `support` deals with customers, `owner` does everything. Every action is in the audit log.',
    token: 'An operator’s token: `Authorization: Bearer tpo_…`.',
    cookie: 'turnpike_operator',
    hasRoles: true,
  },
  findShown: (request) => findShown(request, 'operator', deps.publicUrl()),
  async letIn(request, from, operation) {
    const visitor = visitorOf(request, from)
    const text = request.headers.has('authorization')
      ? undefined
      : readSessionText(request, 'operator', deps.publicUrl())
    const { operator, expiresAt, assertOpenIn } = await (text === undefined
      ? byToken(deps, sentTokenOf(request))
      : bySession(deps, text))
    deps.operators.assertRole(operator, operation.role)
    const { id, name, role } = operator
    const assertStill: Credential['assertStill'] = async (tx) => {
      deps.operators.assertRole(await deps.operators.lockPresentIn(tx, id), operation.role)
      await assertOpenIn(tx)
    }
    const credential = { expiresAt, assertStill }
    return { by: { actor: { operator: id, name, role, source: visitor.source }, visitor, credential }, name: id }
  },
})

type Door = { readonly operators: Operators; readonly signIn: SignIn }

async function byToken({ operators }: Door, text: string | undefined) {
  const { operator, token } = await operators.authenticate(text)
  const assertOpenIn: Credential['assertStill'] = (tx) => operators.assertTokenIn(tx, token.id)
  return { operator, expiresAt: token.expiresAt, assertOpenIn }
}

async function bySession({ operators, signIn }: Door, text: string) {
  const session = await signIn.load('operator', text)
  if (session.owner.kind !== 'operator') throw new Error('an operator’s session is not an operator’s')
  await signIn.touch(session)
  const operator = await operators.loadPresent(session.owner.id)
  const assertOpenIn: Credential['assertStill'] = (tx) => signIn.assertOpenIn(tx, session.id)
  return { operator, expiresAt: session.expiresAt, assertOpenIn }
}
