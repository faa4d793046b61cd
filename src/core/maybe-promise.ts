/** A value or a promise of it; avoids a microtask when the value is ready. */
export type MaybePromise<Value> = Value | Promise<Value>

/** Calls `use` with the value: at once if it is ready, otherwise when the promise resolves. */
export const whenReady = <Value, Result>(
  value: MaybePromise<Value>,
  use: (value: Value) => MaybePromise<Result>,
): MaybePromise<Result> => (value instanceof Promise ? value.then(use) : use(value))
