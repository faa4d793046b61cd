import type { Role } from '../../src/domains/operators/rules.ts'
import type { Service } from './service.ts'

type Given = Pick<Service, 'services' | 'url'>

/** A one-time link that signs in as the customer of a token. */
export async function customerLink({ services, url }: Given, token: string): Promise<string> {
  const { customers, db, signIn } = services
  const { customer } = await customers.authenticate(token, undefined, 'read')
  const { text } = await db.transact(async (tx) =>
    signIn.issueLink(tx, { kind: 'customer', owner: customer, purpose: 'enter' }),
  )
  return `${url}/#enter=${text}`
}

/** A one-time link that signs in as a new operator of a role. */
export async function operatorLink({ services, url }: Given, name: string, role: Role): Promise<string> {
  const { db, operators, signIn } = services
  const { text } = await db.transact(async (tx) => {
    const { id } = await operators.add(tx, name, role)
    return signIn.issueLink(tx, { kind: 'operator', owner: id, purpose: 'enter' })
  })
  return `${url}/operator#enter=${text}`
}
