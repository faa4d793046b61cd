import { AsyncLocalStorage } from 'node:async_hooks'

/** Typed AsyncLocalStorage. */
export function createAlong<Context>() {
  const storage = new AsyncLocalStorage<Context>()
  return {
    run: <Result>(context: Context, work: () => Promise<Result>): Promise<Result> => storage.run(context, work),
    get: (): Context | undefined => storage.getStore(),
  }
}
