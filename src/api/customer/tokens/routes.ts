import { type Prefix, readPrefix } from '../../../core/address.ts'
import { readId } from '../../../core/ids.ts'
import { kopecks } from '../../../core/money.ts'
import { readIso } from '../../../core/time.ts'
import type { Customers, TokenRequest } from '../../../domains/customers/index.ts'
import type { Scope } from '../../../domains/customers/rules.ts'
import { orRefuse } from '../../answers.ts'
import { type Bound, bind } from '../../bind.ts'
import type { z } from '../../operation.ts'
import { createOwnToken, listOwnTokens, revokeOwnToken, type tokenBody, toToken } from './shapes.ts'

/** A customer's own tokens. Only a session may touch them: a token that makes tokens would know no cap. */
export function tokenOperations(deps: { customers: Customers }): readonly Bound[] {
  const { customers } = deps
  return [
    bind(listOwnTokens, async ({ caller }) => ({
      tokens: (await customers.listTokens(caller.customer)).map(toToken),
    })),

    bind(createOwnToken, async ({ caller, body }) => {
      const { text, token } = await customers.issueToken(caller.customer, readTokenRequest(body))
      return { ...toToken(token), token: text }
    }),

    bind(revokeOwnToken, async ({ caller, body }) => {
      const id = orRefuse(readId('token', body.token_id), 'token_not_found')
      await customers.revokeOwnToken(caller.customer, id)
      return { token_id: id, revoked: true }
    }),
  ]
}

export const readTokenRequest = (body: z.output<typeof tokenBody>): TokenRequest => ({
  name: body.name,
  ...(body.scopes && { scopes: [...new Set(body.scopes)] as Scope[] }),
  allowedFrom: (body.from ?? []).map((text) => readPrefix(text)).filter((each): each is Prefix => each !== undefined),
  cap: typeof body.cap_rub === 'number' ? kopecks(BigInt(Math.round(body.cap_rub * 100))) : null,
  expiresAt: typeof body.expires_at === 'string' ? (readIso(body.expires_at) ?? null) : null,
})
