import { signInTable } from '../../api/operation-tables.ts' with { type: 'macro' }
import type { SignInOperations } from '../../api/operation-tables.ts'

export type Operations = SignInOperations

/** Written into the program by the build. */
export const operations = signInTable()

export type Who = Operations['getSessionOfCustomer']['answer']
export type Session = Operations['listSessionsOfCustomer']['answer']['sessions'][number]
