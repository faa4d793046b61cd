import { Refusal } from '../../src/core/refusal.ts'

/** The error of a promise that must fail. */
export async function failureOf(promise: Promise<unknown> | undefined): Promise<Error> {
  let result: unknown
  try {
    result = await promise
  } catch (error) {
    return error instanceof Error ? error : new Error(`not an error was thrown: ${String(error)}`)
  }
  throw new Error(`a failure was expected, not ${Bun.inspect(result)}`)
}

/** The refusal of a promise that must be refused. Any other error is thrown again. */
export async function refusalOf(promise: Promise<unknown>): Promise<Refusal> {
  const failure = await failureOf(promise)
  if (failure instanceof Refusal) return failure
  throw failure
}
