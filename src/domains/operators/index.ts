export { createOperators, type Operators } from './service.ts'
export { type Acting, createActing } from './service-acting.ts'
export { createOperatorsVerifier } from './service-audit.ts'
