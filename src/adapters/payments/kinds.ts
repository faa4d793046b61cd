import type { ProviderKind } from '../../domains/payments/ports.ts'
import { cryptoPay } from './crypto-pay.ts'
import { invoice } from './invoice.ts'
import { platega } from './platega.ts'
import { sandbox } from './sandbox.ts'
import { yookassa } from './yookassa.ts'

/** Every provider that can be set up, in the order in which customers see their methods. */
export const providerKinds: readonly ProviderKind[] = [sandbox, yookassa, platega, cryptoPay, invoice]
