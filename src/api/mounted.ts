import { answer } from './answer-operation.ts'
import type { Api, Params } from './api.ts'
import type { ApiProfile } from './describe.ts'
import type { Limits } from './limits.ts'
import type { Operation } from './operation.ts'
import type { Visit } from './visit.ts'

/** An API without the type of its callers. */
export type Mounted = {
  readonly base: string
  readonly operations: readonly Operation[]
  readonly profile: ApiProfile
  readonly answer: (
    operation: Operation,
    request: Request,
    params: Params,
    visit: Visit,
    limits: Limits,
  ) => Promise<Response>
}

export function mount<By>(api: Api<By>): Mounted {
  const bound = new Map(api.bound.map((each) => [each.operation, each]))
  return {
    base: api.base,
    operations: api.bound.map((each) => each.operation),
    profile: api.profile,
    answer(operation, request, params, visit, limits) {
      const found = bound.get(operation)
      if (!found) throw new Error(`nothing is bound to ${operation.id}`)
      return answer(api, limits, found, request, params, visit)
    },
  }
}
