import { Refusal } from '../../core/refusal.ts'

/** No gateway is up. There may be plenty in stock, so this is not `out_of_stock`. */
export class NoGateway extends Refusal {
  constructor() {
    super('no_gateway_up', {}, { charged: false })
  }
}

export const noSuchRange = (prefix: string): Refusal => new Refusal('range_not_found', { prefix })

/** The address is an exit of a premium pool. */
export const soldElsewhere = (): Refusal => new Refusal('address_is_exit')
