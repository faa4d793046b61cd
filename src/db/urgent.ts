import { AsyncLocalStorage } from 'node:async_hooks'

const urgent = new AsyncLocalStorage<true>()

/**
 * Runs work whose transactions wait for the database ahead of all others. For reports of nodes: a shop that is busy
 * with purchases would otherwise hear of its nodes too late, take them for silent and refuse the purchases.
 */
export const urgently = <Result>(work: () => Promise<Result>): Promise<Result> => urgent.run(true, work)

export const isUrgent = (): boolean => urgent.getStore() === true
