import type { FieldProblem } from '../../core/messages/problems.ts'
import { malformed, Refusal, refuseField } from '../../core/refusal.ts'

/** The same for an unknown sub-user and for another customer's. */
export const noSuchSubuser = (): Refusal => new Refusal('subuser_not_found', {}, { charged: false })
export const loginTaken = (): Refusal => new Refusal('subuser_login_taken')
export const tooManySubusers = (max: number): Refusal => new Refusal('subuser_limit', { most: max })
export const defaultStays = (): Refusal => new Refusal('default_subuser_stays')

export const sameSubuser = (): Refusal => refuseField('to_subuser_id', 'other_subuser')

export const unknownPool = (allowed: readonly string[]): Refusal => refuseField('pool_type', 'one_of', { allowed })

export const whitelistFull = (max: number): Refusal => new Refusal('whitelist_full', { most: max }, { limit: max })
export const badLocation = (problems: readonly FieldProblem[]): Refusal => malformed(problems)
export const poolNotServed = (pool: string): Refusal => new Refusal('no_exit_usable', { pool }, { charged: false })

/** The address is sold as a dedicated proxy; a database constraint decides. */
export const inStock = (): Refusal => new Refusal('address_in_stock')
export const inBlock = (block: string): Refusal => new Refusal('address_in_block', { block })
export const noSuchExit = (): Refusal => new Refusal('exit_not_found')
export const noSuchTrafficOrder = (): Refusal => new Refusal('traffic_order_not_found')
export const nothingUnused = (): Refusal => new Refusal('no_unused_traffic', {}, { charged: false })

export const nothingToMove = (pool: string): Refusal =>
  new Refusal('no_traffic_to_move', { pool }, { available_gb: 0, charged: false })

export const endsBeforeItBegins = (): Refusal => refuseField('from', 'not_after', { other: 'to' })

export const longRange = (maxDays: number): Refusal =>
  refuseField('from', 'earlier_by', { other: 'to', max_days: maxDays })

export const tooManyHosts = (max: number): Refusal => refuseField('hosts', 'max_items', { max })

export const onlyUnused = (): Refusal => new Refusal('traffic_refund_is_unused_part')
