import { Refusal } from '../../src/core/refusal.ts'

/** What a promise failed with. One that succeeds is itself the failure. */
export async function failureOf(promise: Promise<unknown> | undefined): Promise<Error> {
  let result: unknown
  try {
    result = await promise
  } catch (error) {
    return error instanceof Error ? error : new Error(`not an error was thrown: ${String(error)}`)
  }
  throw new Error(`a failure was expected, not ${Bun.inspect(result)}`)
}

/** The code that a promise was refused with. A fault is passed on: it is never an expected no. */
export async function refusalOf(promise: Promise<unknown>): Promise<Refusal> {
  const failure = await failureOf(promise)
  if (failure instanceof Refusal) return failure
  throw failure
}
