import type { Customers } from '../../domains/customers/index.ts'
import type { Operators } from '../../domains/operators/index.ts'
import type { SignIn } from '../../domains/signin/index.ts'
import type { Transacting } from '../chores.ts'

/** Links that open a sandbox, each once: as its customer, and as the operator who runs it. */
export type SandboxLinks = { readonly customer: string; readonly operator: string }

const operatorName = 'sandbox'

/** Makes both anew at every start: whoever has the terminal has the sandbox. Undefined for a shop that is none. */
export async function makeSandboxLinks(deps: {
  readonly db: Transacting
  readonly customers: Customers
  readonly operators: Operators
  readonly signIn: SignIn
}): Promise<SandboxLinks | undefined> {
  const customer = await deps.customers.findSandboxCustomer()
  if (customer === undefined) return undefined
  const known = (await deps.operators.list()).find((each) => each.name === operatorName)
  return deps.db.transact(async (tx) => {
    const operator = known ?? (await deps.operators.add(tx, operatorName, 'owner'))
    const links = [
      deps.signIn.issueLink(tx, { kind: 'customer', owner: customer, purpose: 'enter' }),
      deps.signIn.issueLink(tx, { kind: 'operator', owner: operator.id, purpose: 'enter' }),
    ] as const
    return { customer: links[0].text, operator: links[1].text }
  })
}
