export { type Adjustment, createLedger, type Ledger, type Payer } from './service.ts'
export {
  type Charges,
  createKeptVerifier,
  createLedgerAudit,
  type LedgerAudit,
} from './service-audit.ts'
export { createLedgerReports, type LedgerReports } from './service-reports.ts'
