import type { Address } from '../core/address.ts'
import type { CustomerId, TokenId } from '../core/ids.ts'
import type { Bound } from './bind.ts'
import type { ApiProfile } from './describe.ts'
import type { Operation } from './operation.ts'
import type { ApiVersions } from './versions.ts'

/** An authenticated caller: the value for operations, the name that is rate-limited, and the customer. */
export type Admitted<By> = {
  readonly by: By
  readonly name: string
  readonly customer?: CustomerId | undefined
  /** The token of a customer, null in a session: the request is in the customer's log. */
  readonly token?: TokenId | null
  /** The version of the token; undefined without one. */
  readonly version?: string | undefined
  /** The transaction of the sale checks the token again. A session is only checked here. */
  readonly isCheckedBySale?: boolean
}

/** One of several APIs on the same port: its operations, its authentication and its description. */
export type Api<By> = {
  readonly base: string
  readonly bound: readonly Bound<By>[]
  readonly profile: ApiProfile
  /** Versions that requests can name; an API without them has one form. */
  readonly versions?: ApiVersions
  /** Authenticates the caller. A sale accepts an older cached result: its transaction checks revocation again. */
  readonly letIn: (
    request: Request,
    from: Address | undefined,
    operation: Operation,
    purpose?: 'sale',
  ) => Promise<Admitted<By>>
  /** The credential of a request: its token, or one session cookie. */
  readonly findShown: (request: Request, operation: Operation) => string | undefined
}

export type Params = Readonly<Record<string, string>>
