import { Refusal } from '../../core/refusal.ts'

export const portsUsedUp = (): Refusal => new Refusal('no_port_free', {}, { available: 0 })

export const noSuchNode = (): Refusal => new Refusal('node_not_found')

/** One answer for a key that is unknown, expired, used or of a closed node, so that it tells nothing. */
export const invalidJoinKey = (): Refusal => new Refusal('invalid_join_key')

/** One answer for a secret that is missing, malformed, unknown, replaced, revoked or of a closed node. */
export const invalidNodeSecret = (): Refusal => new Refusal('node_secret_invalid')
