import { Refusal } from '../../core/refusal.ts'

export const outOfStock = (available: number): Refusal =>
  new Refusal('out_of_stock', { available }, { available, charged: false })

/** There may be plenty: whoever was told that there is none would go elsewhere, or ask for less. */
export class NoGateway extends Refusal {
  constructor() {
    super('no_gateway_up', {}, { charged: false })
  }
}

export const noSuchAddress = (): Refusal => new Refusal('address_not_found')

export const partOfBlock = (block: string): Refusal => new Refusal('address_part_of_block', { block })

export const noSuchRange = (prefix: string): Refusal => new Refusal('range_not_found', { prefix })

export const notAGateway = (name: string): Refusal => new Refusal('gateway_not_found', { name })

export const beingAdded = (): Refusal => new Refusal('addresses_being_added')

/** The address is one of another product, which only a constraint knows for sure. */
export const soldElsewhere = (): Refusal => new Refusal('address_is_exit')
