import { AsyncLocalStorage } from 'node:async_hooks'

/** Typed AsyncLocalStorage. */
export function createAlong<Carried>() {
  const storage = new AsyncLocalStorage<Carried>()
  return {
    run: <Result>(carried: Carried, work: () => Promise<Result>): Promise<Result> => storage.run(carried, work),
    get: (): Carried | undefined => storage.getStore(),
  }
}
