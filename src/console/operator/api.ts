import { createClient } from '../client/call.ts'
import { type Operations, operations } from '../client/operator.ts'
import { standing, useWho } from '../client/session.ts'
import { createHooks } from '../shared/queries.ts'

/** The operators' API: what the operator's tool does, and no more. */
export const api = createClient<Operations>('/admin/v1', operations, standing)

export const { useRead, usePages, useChange } = createHooks<Operations>(api)

export type Answer<Name extends keyof Operations> = Operations[Name]['answer']

const ranks = ['reader', 'support', 'owner']

/** Whether an operation is for the operator who is here: what he may not do, he is not offered. The shop decides. */
export function useMay(): (name: keyof Operations) => boolean {
  const role = useWho()?.role ?? 'owner'
  return (name) => ranks.indexOf(api.roleOf(name) ?? 'owner') <= ranks.indexOf(role)
}
