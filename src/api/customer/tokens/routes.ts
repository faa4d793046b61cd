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
import { type ApiVersions, apiVersions } from '../../versions.ts'
import {
  createOwnToken,
  getToken,
  listOwnTokens,
  revokeOwnToken,
  setTokenVersion,
  type tokenBody,
  toToken,
} from './shapes.ts'

/** A customer's own tokens. Only a session may change them: a token that makes tokens would know no cap. */
export function tokenOperations(deps: {
  customers: Customers
  orders: Orders
  versions?: ApiVersions
}): readonly Bound[] {
  const { customers, orders, versions = apiVersions } = deps
  const readVersion = ({ api_version: sent }: { readonly api_version?: string | undefined }) =>
    sent === undefined ? undefined : versions.read(sent, 'api_version')
  return [
    bind(getToken, async ({ caller: { token, scopes, apiVersion } }) => ({
      token_id: token?.id ?? null,
      scopes: [...scopes],
      cap_rub: token && token.cap !== null ? toRoubles(token.cap) : null,
      api_version: apiVersion ?? versions.latest,
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
          customers.issueTokenIn(tx, caller.customer, { ...readTokenRequest(body), apiVersion: readVersion(body) }),
    ),

    bind(revokeOwnToken, async ({ caller, body }) => {
      const id = orRefuse(readId('token', body.token_id), 'token_not_found')
      await customers.revokeOwnToken(caller.customer, id)
      return { token_id: id, revoked: true }
    }),

    bind(setTokenVersion, async ({ caller, body }) => {
      const id = orRefuse(readId('token', body.token_id), 'token_not_found')
      const version = versions.read(body.api_version, 'api_version')
      await customers.setTokenVersion(caller.customer, id, version)
      return { token_id: id, api_version: version }
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
