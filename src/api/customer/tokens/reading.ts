import { type Prefix, readPrefix } from '../../../core/address.ts'
import { kopecks } from '../../../core/money.ts'
import { readIso } from '../../../core/time.ts'
import type { TokenRequest } from '../../../domains/customers/index.ts'
import type { Scope } from '../../../domains/customers/rules.ts'
import type { z } from '../../operation.ts'
import type { tokenWish } from './shapes.ts'

/** A token as it was wished for, in the words of the shop. */
export const readTokenWish = (body: z.output<typeof tokenWish>): TokenRequest => ({
  name: body.name,
  ...(body.scopes && { scopes: [...new Set(body.scopes)] as Scope[] }),
  allowedFrom: (body.from ?? []).map((text) => readPrefix(text)).filter((each): each is Prefix => each !== undefined),
  cap: typeof body.cap_rub === 'number' ? kopecks(BigInt(Math.round(body.cap_rub * 100))) : null,
  expiresAt: typeof body.expires_at === 'string' ? (readIso(body.expires_at) ?? null) : null,
})
