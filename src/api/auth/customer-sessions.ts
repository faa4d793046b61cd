import { Refusal } from '../../core/refusal.ts'
import type { Customers } from '../../domains/customers/index.ts'
import { passwordFirst, type SignIn } from '../../domains/signin/index.ts'
import { isProvisional } from '../../domains/signin/rules.ts'
import type { CustomerSessions } from '../http.ts'
import { readSessionText } from '../session.ts'

const readOnly = (): Refusal => new Refusal('view_is_read_only', {}, { charged: false })

/** Lets a customer's browser in where a program would send a token. What it buys is charged through no token. */
export const createCustomerSessions =
  (deps: { signIn: SignIn; customers: Customers; publicUrl: () => string }): CustomerSessions =>
  async (request, scope) => {
    const text = readSessionText(request, 'customer', deps.publicUrl())
    if (text === undefined) return undefined
    const session = await deps.signIn.load('customer', text)
    if (session.owner.kind !== 'customer') throw new Error('a customer’s session is not a customer’s')
    await deps.customers.assertOpen(session.owner.id)
    if (!session.scopes.includes(scope)) throw isProvisional(session) ? passwordFirst() : readOnly()
    await deps.signIn.touch(session)
    return { customer: session.owner.id, token: null, scopes: session.scopes, session: session.id }
  }
