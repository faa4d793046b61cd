import type { RandomBytes } from '../../core/ids.ts'
import { type Refusal, refuseField } from '../../core/refusal.ts'
import type { Stalls } from '../../core/stall-monitor.ts'
import type { Clock } from '../../core/time.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Events } from '../events/index.ts'
import type { EntryPorts, Fleet } from '../fleet/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Orders } from '../orders/index.ts'
import type { Pricing } from '../pricing/index.ts'
import type { Stock } from '../stock/index.ts'
import type { Traffic } from '../traffic/index.ts'
import type { GatewayEndpoint, PremiumTerms } from './rules.ts'

export type PremiumDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly stalls: Stalls
  readonly random: RandomBytes
  readonly sha256: (text: string) => Uint8Array
  readonly vault: Vault
  readonly gateway: GatewayEndpoint
  readonly terms: PremiumTerms
  readonly ports: EntryPorts
  readonly ledger: Ledger
  readonly customers: Customers
  readonly orders: Orders
  readonly events: Pick<Events, 'note'>
  readonly pricing: Pricing
  readonly traffic: Traffic
  readonly stock: Pick<Stock, 'blockAround'>
  readonly fleet: Pick<Fleet, 'lockPresent' | 'makePasswordFor'>
}

export const unknownPool = (allowed: readonly string[]): Refusal => refuseField('pool_type', 'one_of', { allowed })
