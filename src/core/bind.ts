/** Use cases without their first parameter. */
export type BoundCases<Cases> = {
  -readonly [Name in keyof Cases]: Cases[Name] extends (deps: never, ...rest: infer Rest) => infer Result
    ? (...rest: Rest) => Result
    : never
}

/** Use cases with their first parameter, the dependencies, filled in. */
export function bind<Deps, Cases extends Readonly<Record<string, (deps: Deps, ...rest: never[]) => unknown>>>(
  deps: Deps,
  cases: Cases,
): BoundCases<Cases> {
  const bound = Object.entries(cases).map(([name, run]) => [name, (...rest: never[]) => run(deps, ...rest)])
  return Object.fromEntries(bound) as BoundCases<Cases>
}
