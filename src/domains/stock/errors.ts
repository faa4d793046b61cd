import { Refusal } from '../../kernel/refusal.ts'

export const outOfStock = (available: number): Refusal =>
  new Refusal(
    'conflict',
    'out_of_stock',
    available === 0
      ? 'None are free here now. Nothing was charged.'
      : `Only ${available} are free here now. Nothing was charged.`,
    { available, charged: false },
  )

/** There may be plenty: whoever was told that there is none would go elsewhere, or ask for less. */
export class NoGateway extends Refusal {
  constructor() {
    super(
      'unavailable',
      'unavailable',
      'No gateway that has them is up at the moment. Nothing was charged; try again later.',
      { charged: false },
    )
  }
}

export const noSuchAddress = (): Refusal => new Refusal('missing', 'not_found', 'There is no such address in stock.')

export const partOfBlock = (block: string): Refusal =>
  new Refusal('conflict', 'conflict', `This is a part of the block ${block}, which is closed as a whole or not at all.`)

export const noSuchRange = (prefix: string): Refusal =>
  new Refusal('missing', 'not_found', `Nothing in stock is within ${prefix}.`)

export const notAGateway = (name: string): Refusal =>
  new Refusal('missing', 'not_found', `There is no gateway called ${name}. "turnpike node list" shows them.`)

export const beingAdded = (): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    'Somebody else is adding these addresses. Give the command again when he is done.',
  )

/** The address is one of another product, which only a constraint knows for sure. */
export const soldElsewhere = (): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    'An address of these is an exit of a premium pool. Drain that exit first: "turnpike exit list" shows them.',
  )
