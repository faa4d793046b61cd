import { kopecks } from '../../core/money.ts'
import type { ProviderKind } from '../../domains/payments/ports.ts'

/** Needs nobody: a page with one button. There is none outside a sandbox. */
export const sandbox: ProviderKind = {
  name: 'sandbox',
  methods: [
    { method: 'sandbox', name: 'Sandbox', min: kopecks(100n), max: kopecks(100_000_000n), payableMs: 3_600_000 },
  ],
  settings: [],
  needsSecret: false,
  isSandbox: true,
}
