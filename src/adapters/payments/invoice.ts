import { kopecks } from '../../core/money.ts'
import type { ProviderKind } from '../../domains/payments/ports.ts'

const dayMs = 86_400_000

/** Bank transfer and cash: the customer sees where to pay, and the operator says when the money is there. */
export const invoice: ProviderKind = {
  name: 'invoice',
  methods: [
    {
      method: 'transfer',
      name: 'Bank transfer',
      min: kopecks(100n),
      max: kopecks(1_000_000_000n),
      payableMs: 14 * dayMs,
    },
    { method: 'cash', name: 'Cash', min: kopecks(100n), max: kopecks(1_000_000_000n), payableMs: 14 * dayMs },
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
