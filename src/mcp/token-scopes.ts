import { getToken } from '../api/customer/tokens/shapes.ts'
import { callShop, type Send } from './shop-call.ts'

/** Scopes of the token that a server sends with every request. */
export async function loadScopes(send: Send): Promise<readonly string[]> {
  const called = await callShop(send, getToken, {})
  if ('problem' in called) throw new Error(called.problem.message)
  return getToken.answer.parse(called.data).scopes
}
