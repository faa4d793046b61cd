import { createClient } from '../client/call.ts'
import { type Operations, operations } from '../client/customer.ts'
import { caller } from '../client/session.ts'
import { createHooks } from '../shared/queries.ts'

export const api = createClient<Operations>('/api/v1', operations, caller)

export const { useRead, usePages, loadPages, useChange, usePurchase } = createHooks<Operations>(api)

/** Prices may change while a page is open. A purchase names the price on its button as its limit. */
export const quoteEveryMs = 15_000

export type CustomerAnswer<Name extends keyof Operations> = Operations[Name]['answer']
