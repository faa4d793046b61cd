import { readId } from '../../core/ids.ts'
import { Refusal } from '../../core/refusal.ts'
import { type Clock, toIso } from '../../core/time.ts'
import type { Brands } from '../../domains/brand/index.ts'
import type { Customers } from '../../domains/customers/index.ts'
import type { Operators } from '../../domains/operators/index.ts'
import {
  type Identities,
  type OpenedSession,
  passwordFirst,
  type Registration,
  type SignIn,
  type Visitor,
} from '../../domains/signin/index.ts'
import { isProvisional, type Owner, type OwnerKind, type Session } from '../../domains/signin/rules.ts'
import type { Api } from '../api.ts'
import { type Bound, bind, bindReply } from '../bind.ts'
import type { CustomerSessions } from '../http.ts'
import type { Operation } from '../operation.ts'
import { assertSameOrigin, findShown, readSessionText, toCookie, visitorOf } from '../session.ts'
import * as customerShapes from './shapes.ts'

export type AuthDeps = {
  readonly signIn: SignIn
  readonly identities: Identities
  readonly registration: Registration
  readonly customers: Customers
  readonly operators: Operators
  readonly clock: Clock
  readonly publicUrl: () => string
  readonly brands: Pick<Brands, 'current'>
  readonly drawSvg: (text: string) => string
  /** Does something as an operator, so that it is in the audit log. */
  readonly actAs: <Result>(session: Session, operation: string, work: () => Promise<Result>) => Promise<Result>
}

/** Finds the customer of a browser session. What the browser buys is charged through no token. */
export const createCustomerSessions =
  (deps: Pick<AuthDeps, 'signIn' | 'customers' | 'publicUrl'>): CustomerSessions =>
  async (request, scope) => {
    const text = readSessionText(request, 'customer', deps.publicUrl())
    if (text === undefined) return undefined
    const session = await deps.signIn.load('customer', text)
    if (session.owner.kind !== 'customer') throw new Error('the customer session belongs to an operator')
    await deps.customers.assertOpen(session.owner.id)
    if (!session.scopes.includes(scope)) {
      throw isProvisional(session) ? passwordFirst() : new Refusal('view_is_read_only', {}, { charged: false })
    }
    await deps.signIn.touch(session)
    return { customer: session.owner.id, token: null, scopes: session.scopes, session: session.id }
  }

type Guest = { readonly visitor: Visitor; readonly session: Session | undefined }

/** The API that signs people in. It takes no tokens. */
export function authApi(deps: AuthDeps): Api<Guest> {
  return {
    base: '/auth/v1',
    bound: [...signInOperations(deps, 'customer'), ...signInOperations(deps, 'operator'), ...customerOperations(deps)],
    profile: {
      title: 'Turnpike: sign-in',
      description:
        'Sign-in of customers and operators in a browser. A session is a cookie; every request with it must have ' +
        'the header `X-Turnpike-Console: 1`. It is accepted by `/api/v1` or `/admin/v1` instead of a token.',
      token: undefined,
      cookie: 'turnpike_customer',
    },
    async letIn(request, from, operation) {
      const visitor = visitorOf(request, from)
      if (operation.access === 'public') {
        assertSameOrigin(request, deps.publicUrl())
        return { by: { visitor, session: undefined }, name: visitor.clientPrefix }
      }
      const kind = sessionsOf(operation)
      const session = await deps.signIn.load(kind, readSessionText(request, kind, deps.publicUrl()))
      const isChange = operation.method === 'POST' && !operation.path.endsWith('/sign-out')
      if (session.openedBy !== null && isChange) throw new Refusal('view_is_read_only')
      if (isProvisional(session) && isChange && operation.path !== '/customer/password') throw passwordFirst()
      await deps.signIn.touch(session)
      return { by: { visitor, session }, name: session.owner.id }
    },
    findShown: (request, operation) => findShown(request, sessionsOf(operation), deps.publicUrl()),
  }
}

const sessionsOf = ({ path }: Operation): OwnerKind => (path.startsWith('/operator/') ? 'operator' : 'customer')

function sessionOf({ session }: Guest): Session {
  if (!session) throw new Error('an operation that needs a session was called without one')
  return session
}

const createReplies = (deps: AuthDeps) => {
  const toWho = async (session: Session) => {
    const { owner } = session
    const profile = await deps.identities.profile(owner)
    const operator = owner.kind === 'operator' ? await deps.operators.findPresent(owner.id) : undefined
    const customer = owner.kind === 'customer' ? await deps.customers.load(owner.id) : undefined
    return {
      kind: owner.kind,
      id: owner.id,
      name: operator?.name ?? customer?.name ?? '',
      role: operator?.role ?? null,
      scopes: [...session.scopes],
      login: profile.login,
      email: profile.email,
      has_password: profile.hasPassword,
      has_factor: profile.hasFactor,
      recovery_codes_left: profile.recoveryCodes,
      session_id: session.id,
      expires_at: toIso(session.expiresAt),
      viewed_by: session.openedBy,
    }
  }
  return {
    toWho,
    entered: async ({ secret, session }: OpenedSession) => ({
      data: await toWho(session),
      cookie: toCookie(session.owner.kind, secret, session.expiresAt - deps.clock(), deps.publicUrl()),
      owner: session.owner.id,
    }),
    left: (kind: OwnerKind) => ({ data: { done: true }, cookie: toCookie(kind, '', 0, deps.publicUrl()) }),
  }
}

function signInOperations(deps: AuthDeps, kind: OwnerKind): readonly Bound<Guest>[] {
  const shapes = customerShapes.createSignInShapes(kind)
  const { toWho, entered, left } = createReplies(deps)
  return [
    bind(shapes.offers, async () =>
      kind === 'customer'
        ? { ...deps.registration.offers, contact: (await deps.brands.current()).contact ?? null }
        : { registration: false, mail: false, contact: null },
    ),
    bindReply(shapes.signIn, async ({ caller, body }) =>
      entered(await deps.signIn.byPassword(kind, body, caller.visitor)),
    ),
    bindReply(shapes.byLink, async ({ caller, body }) => entered(await deps.signIn.byLink(kind, body, caller.visitor))),
    bindReply(shapes.signOut, async ({ caller }) => {
      const { owner, id } = sessionOf(caller)
      await deps.signIn.end(owner, id)
      return left(kind)
    }),
    bind(shapes.session, async ({ caller }) => toWho(sessionOf(caller))),
    bind(shapes.sessions, async ({ caller }) => {
      const { owner, id } = sessionOf(caller)
      return { sessions: (await deps.signIn.list(owner)).map((each) => customerShapes.toSession(each, id)) }
    }),
    ...changeOperations(deps, kind, shapes),
  ]
}

/** Changes to how the owner of a session signs in. An operator's changes are in the audit log. */
function changeOperations(
  deps: AuthDeps,
  kind: OwnerKind,
  shapes: ReturnType<typeof customerShapes.createSignInShapes>,
): readonly Bound<Guest>[] {
  const { identities } = deps
  async function act<Result>(
    caller: Guest,
    operation: Operation,
    change: (session: Session, clientPrefix: string) => Promise<Result>,
  ): Promise<Result> {
    const session = sessionOf(caller)
    const work = () => change(session, caller.visitor.clientPrefix)
    return kind === 'customer' ? work() : deps.actAs(session, operation.id, work)
  }

  return [
    bind(shapes.endSessions, async ({ caller, body }) => {
      const id = body.session_id === undefined ? undefined : readId('session', body.session_id)
      if (body.session_id !== undefined && !id) throw new Refusal('session_not_found')
      return act(caller, shapes.endSessions, async (session) => {
        if (!id) return { ended: await deps.signIn.endOthers(session.owner, session.id) }
        await deps.signIn.end(session.owner, id)
        return { ended: 1 }
      })
    }),
    bind(shapes.password, async ({ caller, body }) => {
      const login = await loginOf(deps, sessionOf(caller).owner, body.login)
      const { ended } = await act(caller, shapes.password, (session, clientPrefix) => {
        const input = { login, current: body.current_password, password: body.password, clientPrefix }
        return identities.setPassword(session.owner, input, session)
      })
      return { sessions_ended: ended }
    }),
    bind(shapes.beginFactor, async ({ caller, body }) => {
      const made = await act(caller, shapes.beginFactor, ({ owner }, clientPrefix) =>
        identities.beginFactor(owner, body.current_password, clientPrefix),
      )
      return { ...made, qr: deps.drawSvg(made.uri) }
    }),
    bind(shapes.confirmFactor, async ({ caller, body }) => {
      const codes = await act(caller, shapes.confirmFactor, ({ owner }, clientPrefix) =>
        identities.confirmFactor(owner, body.code, clientPrefix),
      )
      return { done: true, recovery_codes: [...codes] }
    }),
    bind(shapes.renewRecovery, async ({ caller, body }) => {
      const codes = await act(caller, shapes.renewRecovery, ({ owner }, clientPrefix) =>
        identities.renewRecovery(owner, body.current_password, clientPrefix),
      )
      return { recovery_codes: [...codes] }
    }),
    bind(shapes.removeFactor, async ({ caller, body }) => {
      await act(caller, shapes.removeFactor, ({ owner }, clientPrefix) =>
        identities.removeFactor(owner, body.current_password, clientPrefix),
      )
      return { done: true }
    }),
  ]
}

/** An operator's login is the operator's name, so that it matches the audit log. */
async function loginOf(deps: AuthDeps, owner: Owner, requested: string | undefined): Promise<string | undefined> {
  if (owner.kind === 'customer') return requested
  return (await deps.operators.findPresent(owner.id))?.name
}

function customerOperations(deps: AuthDeps): readonly Bound<Guest>[] {
  const { registration } = deps
  const { entered, left } = createReplies(deps)
  return [
    bindReply(customerShapes.register, async ({ caller, body }) => {
      const { opened, ref } = await registration.register(body, caller.visitor)
      const reply = opened && (await entered(opened))
      return { ...reply, data: { confirm: !opened, who: reply?.data ?? null, ref } }
    }),
    bind(customerShapes.lookAtRef, async ({ query }) => ({ ref: await registration.lookAtRef(query.code) })),
    bindReply(customerShapes.confirmAddress, async ({ caller, body }) =>
      entered(await registration.confirm(body, caller.visitor)),
    ),
    bind(customerShapes.forgotPassword, async ({ caller, body }) => {
      await registration.askReset(body.email, caller.visitor)
      return { done: true }
    }),
    bind(customerShapes.resetPassword, async ({ caller, body }) => {
      await registration.reset(body, caller.visitor)
      return { done: true }
    }),
    bindReply(customerShapes.leave, async ({ caller, body }) => {
      const { owner } = sessionOf(caller)
      if (owner.kind !== 'customer') throw new Error('only a customer can be deleted here')
      await registration.eraseCustomer(owner.id, {
        password: body.current_password,
        giveUpBalance: body.give_up_balance,
        clientPrefix: caller.visitor.clientPrefix,
      })
      return left('customer')
    }),
  ]
}
