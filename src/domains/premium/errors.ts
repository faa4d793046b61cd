import { type FieldProblem, malformed, Refusal } from '../../core/refusal.ts'

/** The same for an unknown sub-user and for another customer's. */
export const noSuchSubuser = (): Refusal => new Refusal('subuser_not_found', {}, { charged: false })
export const loginTaken = (): Refusal => new Refusal('subuser_login_taken')
export const tooManySubusers = (most: number): Refusal => new Refusal('subuser_limit', { most })
export const defaultStays = (): Refusal => new Refusal('default_subuser_stays')

export const sameSubuser = (): Refusal =>
  malformed([{ field: 'to_subuser_id', problem: 'must be another sub-user than the traffic comes from' }])

export const unknownPool = (allowed: readonly string[]): Refusal =>
  malformed([{ field: 'pool_type', problem: `must be one of ${allowed.join(', ')}`, allowed }])

export const whitelistFull = (most: number): Refusal => new Refusal('whitelist_full', { most }, { limit: most })
export const badPlace = (problems: readonly FieldProblem[]): Refusal => malformed(problems)
export const notCarried = (pool: string): Refusal => new Refusal('no_exit_usable', { pool }, { charged: false })

/** The address is sold as a dedicated proxy; a database constraint decides. */
export const inStock = (): Refusal => new Refusal('address_in_stock')
export const inBlock = (block: string): Refusal => new Refusal('address_in_block', { block })
export const noSuchExit = (): Refusal => new Refusal('exit_not_found')
export const noSuchTrafficOrder = (): Refusal => new Refusal('traffic_order_not_found')
export const nothingUnused = (): Refusal => new Refusal('no_unused_traffic', {}, { charged: false })

export const nothingToMove = (pool: string): Refusal =>
  new Refusal('no_traffic_to_move', { pool }, { available_gb: 0, charged: false })

export const endsBeforeItBegins = (): Refusal => malformed([{ field: 'from', problem: 'must not be after "to"' }])

export const longRange = (most: string): Refusal =>
  malformed([{ field: 'from', problem: `must be at most ${most} before "to"` }])

export const tooManyHosts = (most: number): Refusal =>
  malformed([{ field: 'hosts', problem: `must be at most ${most} at a time` }])

export const onlyUnused = (): Refusal => new Refusal('traffic_refund_is_unused_part')
