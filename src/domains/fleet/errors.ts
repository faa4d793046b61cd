import { Refusal } from '../../kernel/refusal.ts'

export const portsUsedUp = (): Refusal =>
  new Refusal('conflict', 'out_of_stock', 'No port is free for this. Use a login and a password.', { available: 0 })

export const tooManyPorts = (most: number, free: number): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    `A customer may hold ${most} ports, and ${free} are left. Ask for fewer, or use a login and a password.`,
    { limit: most, available: free },
  )

export const noSuchNode = (): Refusal => new Refusal('missing', 'not_found', 'There is no such node.')

export const nameTaken = (): Refusal => new Refusal('conflict', 'conflict', 'There is a node of this name already.')

export const nodeOpen = (name: string): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    `This node is open and would go on to claim. Shut it out first: "turnpike node close ${name}", or "node revoke".`,
  )

export const nodeClosed = (): Refusal =>
  new Refusal('conflict', 'conflict', 'This node is closed. Open it first, with "turnpike node open".')

/** One answer for a key that is unknown, expired, used or of a closed node: a stranger learns nothing from it. */
export const invalidJoinKey = (): Refusal =>
  new Refusal(
    'unauthenticated',
    'invalid_join_key',
    'This key lets no node in: it is unknown, expired or used. "turnpike node key" makes a new one.',
  )

/** One answer for a secret that is missing, malformed, unknown, replaced, revoked or of a closed node. */
export const invalidNodeSecret = (): Refusal =>
  new Refusal(
    'unauthenticated',
    'invalid_token',
    'Send the secret that this node has joined with as "Authorization: Bearer <secret>". This one opens nothing.',
  )

export const nowhereToGo = (): Refusal =>
  new Refusal(
    'unavailable',
    'unavailable',
    'This cannot be sold now: the shop is not set up to be reached from elsewhere. Ask the operator.',
    { charged: false },
  )

export const notForSale = (): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    'Private, loopback and reserved addresses are not stock in production: nobody elsewhere could use them.',
  )
