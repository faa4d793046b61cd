import { Refusal } from '../../core/refusal.ts'

export const portsUsedUp = (): Refusal => new Refusal('no_port_free', {}, { available: 0 })

export const tooManyPorts = (most: number, free: number): Refusal =>
  new Refusal('port_limit', { most, free }, { limit: most, available: free })

export const noSuchNode = (): Refusal => new Refusal('node_not_found')

export const nameTaken = (): Refusal => new Refusal('node_name_taken')

export const nodeOpen = (name: string): Refusal => new Refusal('node_open', { name })

export const nodeClosed = (): Refusal => new Refusal('node_closed')

/** One answer for a key that is unknown, expired, used or of a closed node: a stranger learns nothing from it. */
export const invalidJoinKey = (): Refusal => new Refusal('invalid_join_key')

/** One answer for a secret that is missing, malformed, unknown, replaced, revoked or of a closed node. */
export const invalidNodeSecret = (): Refusal => new Refusal('node_secret_invalid')

export const nowhereToGo = (): Refusal => new Refusal('shop_url_missing', {}, { charged: false })

export const notForSale = (): Refusal => new Refusal('address_not_public')
