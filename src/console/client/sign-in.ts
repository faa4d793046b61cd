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
  /** GET /customer/offers */
  getOffersForCustomer: { params: {}; query: {}; body: {}; answer: { registration: boolean; mail: boolean } }
  /** POST /customer/sign-in */
  signInCustomer: {
    params: {}
    query: {}
    body: { login: string; password: string; code?: string | undefined }
    answer: Who
  }
  /** POST /customer/sign-in/link */
  signInByLinkCustomer: { params: {}; query: {}; body: { link: string; code?: string | undefined }; answer: Who }
  /** POST /customer/sign-out */
  signOutCustomer: { params: {}; query: {}; body: Readonly<Record<string, unknown>>; answer: { done: boolean } }
  /** GET /customer/session */
  getSessionOfCustomer: { params: {}; query: {}; body: {}; answer: Who }
  /** GET /customer/sessions */
  listSessionsOfCustomer: { params: {}; query: {}; body: {}; answer: { sessions: readonly Session[] } }
  /** POST /customer/sessions/end */
  endSessionsOfCustomer: { params: {}; query: {}; body: { session_id?: string | undefined }; answer: { ended: number } }
  /** POST /customer/password */
  setPasswordOfCustomer: {
    params: {}
    query: {}
    body: { password: string; current_password?: string | undefined; login?: string | undefined }
    answer: { sessions_ended: number }
  }
  /** POST /customer/factor */
  beginFactorOfCustomer: {
    params: {}
    query: {}
    body: { current_password?: string | undefined }
    answer: { secret: string; uri: string; qr: string }
  }
  /** POST /customer/factor/confirm */
  confirmFactorOfCustomer: { params: {}; query: {}; body: { code: string }; answer: { done: boolean } }
  /** POST /customer/factor/remove */
  removeFactorOfCustomer: {
    params: {}
    query: {}
    body: { current_password?: string | undefined }
    answer: { done: boolean }
  }
  /** GET /operator/offers */
  getOffersForOperator: { params: {}; query: {}; body: {}; answer: { registration: boolean; mail: boolean } }
  /** POST /operator/sign-in */
  signInOperator: {
    params: {}
    query: {}
    body: { login: string; password: string; code?: string | undefined }
    answer: Who
  }
  /** POST /operator/sign-in/link */
  signInByLinkOperator: { params: {}; query: {}; body: { link: string; code?: string | undefined }; answer: Who }
  /** POST /operator/sign-out */
  signOutOperator: { params: {}; query: {}; body: Readonly<Record<string, unknown>>; answer: { done: boolean } }
  /** GET /operator/session */
  getSessionOfOperator: { params: {}; query: {}; body: {}; answer: Who }
  /** GET /operator/sessions */
  listSessionsOfOperator: { params: {}; query: {}; body: {}; answer: { sessions: readonly Session[] } }
  /** POST /operator/sessions/end */
  endSessionsOfOperator: { params: {}; query: {}; body: { session_id?: string | undefined }; answer: { ended: number } }
  /** POST /operator/password */
  setPasswordOfOperator: {
    params: {}
    query: {}
    body: { password: string; current_password?: string | undefined; login?: string | undefined }
    answer: { sessions_ended: number }
  }
  /** POST /operator/factor */
  beginFactorOfOperator: {
    params: {}
    query: {}
    body: { current_password?: string | undefined }
    answer: { secret: string; uri: string; qr: string }
  }
  /** POST /operator/factor/confirm */
  confirmFactorOfOperator: { params: {}; query: {}; body: { code: string }; answer: { done: boolean } }
  /** POST /operator/factor/remove */
  removeFactorOfOperator: {
    params: {}
    query: {}
    body: { current_password?: string | undefined }
    answer: { done: boolean }
  }
  /** POST /customer/register */
  register: {
    params: {}
    query: {}
    body: { email: string; password: string; ref?: string | undefined }
    answer: { confirm: boolean; who: Who | null; ref: 'known' | 'unknown' | 'off' | 'own' | 'earlier' | null }
  }
  /** GET /customer/register/ref */
  lookAtRef: {
    params: {}
    query: { code: string }
    body: {}
    answer: { ref: 'known' | 'unknown' | 'off' | 'own' | 'earlier' }
  }
  /** POST /customer/register/confirm */
  confirmAddress: { params: {}; query: {}; body: { link: string; password: string }; answer: Who }
  /** POST /customer/password/forgotten */
  forgotPassword: { params: {}; query: {}; body: { email: string }; answer: { done: boolean } }
  /** POST /customer/password/reset */
  resetPassword: { params: {}; query: {}; body: { link: string; password: string }; answer: { done: boolean } }
  /** POST /customer/leave */
  leave: {
    params: {}
    query: {}
    body: { current_password?: string | undefined; give_up_balance?: boolean | undefined }
    answer: { done: boolean }
  }
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
  removeFactorOfOperator: ['POST', '/operator/factor/remove'],
  register: ['POST', '/customer/register'],
  lookAtRef: ['GET', '/customer/register/ref'],
  confirmAddress: ['POST', '/customer/register/confirm'],
  forgotPassword: ['POST', '/customer/password/forgotten'],
  resetPassword: ['POST', '/customer/password/reset'],
  leave: ['POST', '/customer/leave'],
} as const
