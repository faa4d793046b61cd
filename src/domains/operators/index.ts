export { type Acting, createActing } from './acting.ts'
export { createOperatorsVerifier } from './audit.ts'
export { createOperators, type Operators } from './operators.ts'
