import { kopecks } from '../../core/money.ts'
import type { ProviderKind } from '../../domains/payments/ports.ts'
import { cryptoPay } from './crypto-pay.ts'
import { platega } from './platega.ts'
import { yookassa } from './yookassa.ts'

/** A page with one button that pays. It exists in a sandbox only. */
const sandbox: ProviderKind = {
  name: 'sandbox',
  methods: [
    { method: 'sandbox', name: 'Sandbox', min: kopecks(100n), max: kopecks(100_000_000n), payableMs: 3_600_000 },
  ],
  settings: [],
  needsSecret: false,
  isSandbox: true,
}

const byHand = { min: kopecks(100n), max: kopecks(1_000_000_000n), payableMs: 14 * 86_400_000 }

/** Bank transfer and cash: the customer sees where to pay, and the operator marks the payment as paid. */
const invoice: ProviderKind = {
  name: 'invoice',
  methods: [
    { method: 'transfer', name: 'Bank transfer', ...byHand },
    { method: 'cash', name: 'Cash', ...byHand },
  ],
  settings: [
    {
      name: 'details',
      meaning: 'what the customer is shown: the account or the place to pay at, 1 to 200 characters without a comma',
      isRequired: true,
      isValid: (text) => /^[^\p{Cc}\p{Cs}]{1,200}$/u.test(text),
    },
  ],
  needsSecret: false,
  isSandbox: false,
}

/** Every provider that can be set up, in the order in which customers see their methods. */
export const providerKinds: readonly ProviderKind[] = [sandbox, yookassa, platega, cryptoPay, invoice]
