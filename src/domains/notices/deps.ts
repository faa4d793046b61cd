import type { RandomBytes } from '../../core/ids.ts'
import type { Clock } from '../../core/time.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database } from '../../db/transaction.ts'
import type { Events } from '../events/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Identities } from '../signin/index.ts'
import type { NoticeMail } from './ports.ts'

export type NoticeDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly random: RandomBytes
  readonly vault: Vault
  readonly events: Pick<Events, 'note' | 'between' | 'lastOf'>
  readonly ledger: Pick<Ledger, 'balance' | 'isErased'>
  readonly identities: Pick<Identities, 'profile'>
  /** Undefined in a process that sends no letters. */
  readonly mail: NoticeMail | undefined
  /** The shop sends e-mail. */
  readonly isOn: boolean
  readonly siteUrl: () => string
  readonly lettersPerDay: number
}
