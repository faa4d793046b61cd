import { kindOfCode, type RefusalKind } from '../core/messages/codes.ts'
import { type ApiCode, apiCodes } from './operation.ts'

/** A refusal's kind as an HTTP status. The only place where the two meet. */
export const statusOfKind: Record<RefusalKind, number> = {
  malformed: 400,
  unauthenticated: 401,
  unpaid: 402,
  forbidden: 403,
  missing: 404,
  wrong_method: 405,
  conflict: 409,
  too_large: 413,
  unsupported: 415,
  mismatch: 422,
  too_many: 429,
  supplier: 502,
  unavailable: 503,
}

/** Every code with its status: the table of the contract. The one fault among the codes has a status of its own. */
export const statusOfCode = Object.fromEntries(
  apiCodes.map((code) => [code, code === 'internal_error' ? 500 : statusOfKind[kindOfCode[code]]]),
) as Record<ApiCode, number>
