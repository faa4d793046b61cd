import type { RandomBytes } from '../../core/ids.ts'
import type { Clock } from '../../core/time.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Events } from '../events/index.ts'
import type { OpenSender } from './ports.ts'

export type WebhookDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly random: RandomBytes
  readonly vault: Vault
  readonly customers: Pick<Customers, 'mode' | 'blockedAmong'>
  readonly events: Pick<Events, 'note' | 'between' | 'lastOf'>
  readonly openSender: OpenSender
  /** Waits until the shop may send another message, so that many leave time for purchases; at once by default. */
  readonly pace: () => Promise<void>
}

export const isSandbox = async ({ customers }: Pick<WebhookDeps, 'customers'>): Promise<boolean> =>
  (await customers.mode()) === 'sandbox'
