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

/** False if the work was refused. Any other error is thrown again. */
export async function isDone(work: Promise<unknown>): Promise<boolean> {
  try {
    await work
    return true
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

/** The refusal of a promise that must be refused. Any other error is thrown again. */
export async function refusalOf(promise: Promise<unknown>): Promise<Refusal> {
  const failure = await failureOf(promise)
  if (failure instanceof Refusal) return failure
  throw failure
}
