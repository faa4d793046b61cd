/** Made by `npm run client`: what every API says alike. Never edited by hand. */
export type Warning = { field: string; problem: string; reason: string; params: Readonly<Record<string, unknown>> }
export type Refusal = {
  ok: false
  error: {
    code:
      | 'invalid_request'
      | 'invalid_token'
      | 'sign_in_failed'
      | 'insufficient_funds'
      | 'forbidden'
      | 'not_found'
      | 'method_not_allowed'
      | 'out_of_stock'
      | 'request_in_progress'
      | 'conflict'
      | 'payload_too_large'
      | 'url_too_long'
      | 'headers_too_large'
      | 'unsupported_media_type'
      | 'idempotency_key_reused'
      | 'rate_limited'
      | 'internal_error'
      | 'provider_error'
      | 'unavailable'
    message: string
    reason: string
    params: Readonly<Record<string, unknown>>
    details:
      | null
      | readonly {
          field: string
          problem: string
          reason: string
          params: Readonly<Record<string, unknown>>
          allowed?: readonly (string | number)[]
          see?: string
        }[]
      | { charged?: boolean }
  }
}
