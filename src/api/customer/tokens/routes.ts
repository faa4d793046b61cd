import { readId } from '../../../core/ids.ts'
import { Refusal } from '../../../core/refusal.ts'
import type { Customers } from '../../../domains/customers/index.ts'
import { type Bound, bind } from '../../bind.ts'
import { readTokenWish } from './reading.ts'
import { createOwnToken, listOwnTokens, revokeOwnToken, toToken } from './shapes.ts'

/** A customer's own tokens. Only a session may touch them: a token that makes tokens would know no cap. */
export function tokenOperations(deps: { customers: Customers }): readonly Bound[] {
  const { customers } = deps
  return [
    bind(listOwnTokens, async ({ caller }) => ({
      tokens: (await customers.listTokens(caller.customer)).map(toToken),
    })),

    bind(createOwnToken, async ({ caller, body }) => {
      const { text, token } = await customers.issueToken(caller.customer, readTokenWish(body))
      return { ...toToken(token), token: text }
    }),

    bind(revokeOwnToken, async ({ caller, body }) => {
      const id = readId('token', body.token_id)
      if (!id) throw new Refusal('token_not_found')
      await customers.revokeOwnToken(caller.customer, id)
      return { token_id: id, revoked: true }
    }),
  ]
}
