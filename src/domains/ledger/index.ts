export { type Charges, createKeptVerifier, createLedgerAudit, type LedgerAudit } from './audit.ts'
export { type Adjustment, createLedger, type Ledger, type Payer } from './movements.ts'
export { createLedgerReports, type LedgerReports } from './reports.ts'
