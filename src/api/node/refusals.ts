import { Refusal } from '../../core/refusal.ts'
import type { NodeKind } from '../../domains/fleet/rules.ts'

export const wrongKind = (kind: NodeKind): Refusal => new Refusal('node_kind_wrong', { kind })

export const noSuchRoute = (): Refusal => new Refusal('node_path_not_found')

export const wrongMethod = (method: string): Refusal =>
  new Refusal('method_not_allowed', { methods: [method] }, { allow: [method] })

export const noPrivateKey = (): Refusal => new Refusal('node_private_key_missing')
