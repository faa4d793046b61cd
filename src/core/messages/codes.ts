/** The coarse kind of each code; `api/status.ts` turns a kind into an HTTP status. */
export const kindOfCode = {
  invalid_request: 'malformed',
  invalid_token: 'unauthenticated',
  sign_in_failed: 'unauthenticated',
  invalid_join_key: 'unauthenticated',
  insufficient_funds: 'unpaid',
  forbidden: 'forbidden',
  not_found: 'missing',
  method_not_allowed: 'wrong_method',
  out_of_stock: 'conflict',
  request_in_progress: 'conflict',
  conflict: 'conflict',
  payload_too_large: 'too_large',
  unsupported_media_type: 'unsupported',
  idempotency_key_reused: 'mismatch',
  rate_limited: 'too_many',
  internal_error: 'unavailable',
  provider_error: 'supplier',
  unavailable: 'unavailable',
  // Codes of commands; no shop answers them.
  usage: 'malformed',
  vpn_node_lacks: 'unavailable',
  vpn_device_taken: 'conflict',
  vpn_node_runs: 'conflict',
} as const

export type Code = keyof typeof kindOfCode
export type RefusalKind = (typeof kindOfCode)[Code]
