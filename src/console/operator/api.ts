import { createClient } from '../client/call.ts'
import { type Operations, operations } from '../client/operator.ts'
import { caller, useWho } from '../client/session.ts'
import { createHooks } from '../shared/queries.ts'

export const api = createClient<Operations>('/admin/v1', operations, caller)

export const { useRead, usePages, loadPages, useChange } = createHooks<Operations>(api)

export type OperatorAnswer<Name extends keyof Operations> = Operations[Name]['answer']

const ranks = ['reader', 'support', 'owner']

/** Whether the operator's role may call an operation. The page hides the others; the shop refuses them. */
export function useMay(): (name: keyof Operations) => boolean {
  const role = useWho()?.role ?? 'owner'
  return (name) => ranks.indexOf(api.roleOf(name) ?? 'owner') <= ranks.indexOf(role)
}
