import { AsyncLocalStorage } from 'node:async_hooks'

const urgent = new AsyncLocalStorage<true>()

/**
 * Runs work whose transactions go ahead of all others: reports of nodes, which a busy shop would otherwise take for
 * silent.
 */
export const urgently = <Result>(work: () => Promise<Result>): Promise<Result> => urgent.run(true, work)

export const isUrgent = (): boolean => urgent.getStore() === true
