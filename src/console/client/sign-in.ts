/** Made by `npm run client` from the description of /auth/v1: never edited by hand. */

export type Who = {
  kind: 'customer' | 'operator'
  id: string
  name: string
  role: 'owner' | 'support' | 'reader' | null
  scopes: readonly string[]
  login: string | null
  email: string | null
  has_password: boolean
  has_factor: boolean
  recovery_codes_left: number | null
  session_id: string
  expires_at: string
  viewed_by: string | null
}
export type Session = {
  session_id: string
  current: boolean
  source: string | null
  agent: string | null
  created_at: string
  used_at: string
  expires_at: string
}

export type Operations = {
  getOffersForCustomer: {
    answer: { registration: boolean; mail: boolean; contact: { text: string; url: string } | null }
  }
  signInCustomer: { body: { login: string; password: string; code?: string }; answer: Who }
  signInByLinkCustomer: { body: { link: string; code?: string }; answer: Who }
  signOutCustomer: { answer: { done: boolean } }
  getSessionOfCustomer: { answer: Who }
  listSessionsOfCustomer: { answer: { sessions: readonly Session[] } }
  endSessionsOfCustomer: { body: { session_id?: string }; answer: { ended: number } }
  setPasswordOfCustomer: {
    body: { password: string; current_password?: string; login?: string }
    answer: { sessions_ended: number }
  }
  beginFactorOfCustomer: { body: { current_password?: string }; answer: { secret: string; uri: string; qr: string } }
  confirmFactorOfCustomer: { body: { code: string }; answer: { done: boolean; recovery_codes: readonly string[] } }
  renewRecoveryCodesOfCustomer: { body: { current_password?: string }; answer: { recovery_codes: readonly string[] } }
  removeFactorOfCustomer: { body: { current_password?: string }; answer: { done: boolean } }
  getOffersForOperator: {
    answer: { registration: boolean; mail: boolean; contact: { text: string; url: string } | null }
  }
  signInOperator: { body: { login: string; password: string; code?: string }; answer: Who }
  signInByLinkOperator: { body: { link: string; code?: string }; answer: Who }
  signOutOperator: { answer: { done: boolean } }
  getSessionOfOperator: { answer: Who }
  listSessionsOfOperator: { answer: { sessions: readonly Session[] } }
  endSessionsOfOperator: { body: { session_id?: string }; answer: { ended: number } }
  setPasswordOfOperator: {
    body: { password: string; current_password?: string; login?: string }
    answer: { sessions_ended: number }
  }
  beginFactorOfOperator: { body: { current_password?: string }; answer: { secret: string; uri: string; qr: string } }
  confirmFactorOfOperator: { body: { code: string }; answer: { done: boolean; recovery_codes: readonly string[] } }
  renewRecoveryCodesOfOperator: { body: { current_password?: string }; answer: { recovery_codes: readonly string[] } }
  removeFactorOfOperator: { body: { current_password?: string }; answer: { done: boolean } }
  register: {
    body: { email: string; password: string; ref?: string }
    answer: { confirm: boolean; who: Who | null; ref: 'known' | 'unknown' | 'off' | 'own' | 'earlier' | null }
  }
  lookAtRef: { query: { code: string }; answer: { ref: 'known' | 'unknown' | 'off' | 'own' | 'earlier' } }
  confirmAddress: { body: { link: string; password: string }; answer: Who }
  forgotPassword: { body: { email: string }; answer: { done: boolean } }
  resetPassword: { body: { link: string; password: string }; answer: { done: boolean } }
  leave: { body: { current_password?: string; give_up_balance?: boolean }; answer: { done: boolean } }
}

export const operations = {
  getOffersForCustomer: ['GET', '/customer/offers'],
  signInCustomer: ['POST', '/customer/sign-in'],
  signInByLinkCustomer: ['POST', '/customer/sign-in/link'],
  signOutCustomer: ['POST', '/customer/sign-out'],
  getSessionOfCustomer: ['GET', '/customer/session'],
  listSessionsOfCustomer: ['GET', '/customer/sessions'],
  endSessionsOfCustomer: ['POST', '/customer/sessions/end'],
  setPasswordOfCustomer: ['POST', '/customer/password'],
  beginFactorOfCustomer: ['POST', '/customer/factor'],
  confirmFactorOfCustomer: ['POST', '/customer/factor/confirm'],
  renewRecoveryCodesOfCustomer: ['POST', '/customer/factor/recovery-codes'],
  removeFactorOfCustomer: ['POST', '/customer/factor/remove'],
  getOffersForOperator: ['GET', '/operator/offers'],
  signInOperator: ['POST', '/operator/sign-in'],
  signInByLinkOperator: ['POST', '/operator/sign-in/link'],
  signOutOperator: ['POST', '/operator/sign-out'],
  getSessionOfOperator: ['GET', '/operator/session'],
  listSessionsOfOperator: ['GET', '/operator/sessions'],
  endSessionsOfOperator: ['POST', '/operator/sessions/end'],
  setPasswordOfOperator: ['POST', '/operator/password'],
  beginFactorOfOperator: ['POST', '/operator/factor'],
  confirmFactorOfOperator: ['POST', '/operator/factor/confirm'],
  renewRecoveryCodesOfOperator: ['POST', '/operator/factor/recovery-codes'],
  removeFactorOfOperator: ['POST', '/operator/factor/remove'],
  register: ['POST', '/customer/register'],
  lookAtRef: ['GET', '/customer/register/ref'],
  confirmAddress: ['POST', '/customer/register/confirm'],
  forgotPassword: ['POST', '/customer/password/forgotten'],
  resetPassword: ['POST', '/customer/password/reset'],
  leave: ['POST', '/customer/leave'],
} as const
