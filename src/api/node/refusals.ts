import type { NodeKind } from '../../domains/fleet/rules.ts'
import { Refusal } from '../../kernel/refusal.ts'

export const wrongKind = (kind: NodeKind): Refusal =>
  new Refusal('forbidden', 'forbidden', `This is not for a node of the kind "${kind}".`)

export const noSuchRoute = (): Refusal =>
  new Refusal('missing', 'not_found', 'There is nothing at this path for a node.')

export const wrongMethod = (method: string): Refusal =>
  new Refusal('wrong_method', 'method_not_allowed', `Use ${method} here.`, { allow: [method] })

export const noPrivateKey = (): Refusal =>
  new Refusal('conflict', 'conflict', 'The shop has no private key of this node.')
