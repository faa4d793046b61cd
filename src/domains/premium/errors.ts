import { type FieldProblem, malformed, Refusal } from '../../kernel/refusal.ts'

/** The same for a sub-user that does not exist and one that is somebody else's. */
export const noSuchSubuser = (): Refusal =>
  new Refusal('missing', 'not_found', 'There is no such sub-user.', { charged: false })

export const loginTaken = (): Refusal =>
  new Refusal('conflict', 'conflict', 'This login is taken. Choose another, or leave it out to get one.')

export const tooManySubusers = (most: number): Refusal =>
  new Refusal('conflict', 'conflict', `A customer may have ${most} sub-users. Delete one first.`)

export const defaultStays = (): Refusal =>
  new Refusal('conflict', 'conflict', 'The default sub-user cannot be deleted. Block it instead.')

export const sameSubuser = (): Refusal =>
  malformed([{ field: 'to_subuser_id', problem: 'must be another sub-user than the traffic comes from' }])

export const unknownPool = (allowed: readonly string[]): Refusal =>
  malformed([{ field: 'pool_type', problem: `must be one of ${allowed.join(', ')}`, allowed }])

export const whitelistFull = (most: number): Refusal =>
  new Refusal('conflict', 'conflict', `A whitelist holds ${most} entries. Remove one first.`, { limit: most })

export const badPlace = (problems: readonly FieldProblem[]): Refusal => malformed(problems)

export const notCarried = (pool: string): Refusal =>
  new Refusal(
    'unavailable',
    'unavailable',
    `No exit of ${pool} can be used at the moment. Nothing was charged; try again later.`,
    { charged: false },
  )

/** The address is one that is sold as a dedicated proxy, which only a constraint knows for sure. */
export const inStock = (): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    'This address is in stock as a dedicated proxy. Retire it there first: "turnpike stock retire".',
  )

export const inBlock = (block: string): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    `This address is in the block ${block}, which is sold as dedicated proxies. Take one outside of it, or retire ` +
      'the block first: "turnpike stock retire".',
  )

export const noSuchExit = (): Refusal => new Refusal('missing', 'not_found', 'There is no such exit.')

export const noSuchTrafficOrder = (): Refusal =>
  new Refusal('missing', 'not_found', 'There is no such purchase of traffic.')

export const nothingUnused = (): Refusal =>
  new Refusal('conflict', 'conflict', 'None of the traffic of this order is left and free.', { charged: false })

export const nothingToMove = (pool: string): Refusal =>
  new Refusal('conflict', 'conflict', `There is no free traffic in ${pool} to move.`, {
    available_gb: 0,
    charged: false,
  })

export const endsBeforeItBegins = (): Refusal => malformed([{ field: 'from', problem: 'must not be after "to"' }])

export const longRange = (most: string): Refusal =>
  malformed([{ field: 'from', problem: `must be at most ${most} before "to"` }])

export const tooManyHosts = (most: number): Refusal =>
  malformed([{ field: 'hosts', problem: `must be at most ${most} at a time` }])

export const onlyUnused = (): Refusal =>
  new Refusal('conflict', 'conflict', 'Traffic is taken back as far as it is unused, for that part of its price.')
