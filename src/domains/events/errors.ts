import { malformed, type Refusal } from '../../core/refusal.ts'

export const unknownType = (allowed: readonly string[]): Refusal =>
  malformed([{ field: 'type', problem: `must be one of ${allowed.join(', ')}`, allowed, see: '/docs/events' }])
