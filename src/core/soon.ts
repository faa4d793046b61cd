/** What is known already, or will be. Whoever knows it already does not pay for waiting. */
export type Soon<Value> = Value | Promise<Value>

/** Uses it as soon as it is known: at once, if it is. */
export const soon = <Value, Result>(value: Soon<Value>, use: (value: Value) => Soon<Result>): Soon<Result> =>
  value instanceof Promise ? value.then(use) : use(value)
