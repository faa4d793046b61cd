import type { RandomBytes } from '../../core/ids.ts'
import type { Clock } from '../../core/time.ts'
import type { Database } from '../../db/transaction.ts'
import type { Events } from '../events/index.ts'

export type NoticeDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly random: RandomBytes
  readonly events: Pick<Events, 'note'>
}
