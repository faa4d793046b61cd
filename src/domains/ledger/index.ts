export { createLedger, type Ledger, type Payer } from './service.ts'
export { type Charges, createLedgerAudit, type LedgerAudit } from './service-audit.ts'
