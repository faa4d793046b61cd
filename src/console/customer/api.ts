import { createClient } from '../client/call.ts'
import { type Operations, operations } from '../client/customer.ts'
import { standing } from '../client/session.ts'
import { createHooks } from '../shared/queries.ts'

/** The customers' API, as the console calls it: the same operations that programs have. */
export const api = createClient<Operations>('/api/v1', operations, standing)

export const { useRead, useChange, usePurchase } = createHooks<Operations>(api)

/** What an operation answers with. */
export type Answer<Name extends keyof Operations> = Operations[Name]['answer']
