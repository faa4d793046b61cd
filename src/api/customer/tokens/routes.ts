import { type Prefix, readPrefix } from '../../../core/address.ts'
import { readId } from '../../../core/ids.ts'
import { kopecks, toRoubles } from '../../../core/money.ts'
import { readIso } from '../../../core/time.ts'
import type { Customers, TokenRequest } from '../../../domains/customers/index.ts'
import type { Scope } from '../../../domains/customers/rules.ts'
import type { Orders } from '../../../domains/orders/index.ts'
import { orRefuse } from '../../answers.ts'
import { type Bound, bind, bindCreation } from '../../bind.ts'
import type { z } from '../../operation.ts'
import { createOwnToken, getToken, listOwnTokens, revokeOwnToken, type tokenBody, toToken } from './shapes.ts'

/** A customer's own tokens. Only a session may change them: a token that makes tokens would know no cap. */
export function tokenOperations(deps: { customers: Customers; orders: Orders }): readonly Bound[] {
  const { customers, orders } = deps
  return [
    bind(getToken, async ({ caller: { token, scopes } }) => ({
      token_id: token?.id ?? null,
      scopes: [...scopes],
      cap_rub: token && token.cap !== null ? toRoubles(token.cap) : null,
    })),

    bind(listOwnTokens, async ({ caller }) => ({
      tokens: (await customers.listTokens(caller.customer)).map(toToken),
    })),

    bindCreation(
      createOwnToken,
      orders,
      ({ text, token }: Awaited<ReturnType<Customers['issueToken']>>) => ({ ...toToken(token), token: text }),
      ({ caller, body }) =>
        (tx) =>
          customers.issueTokenIn(tx, caller.customer, readTokenRequest(body)),
    ),

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
