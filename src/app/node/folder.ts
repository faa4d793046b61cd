import { join } from 'node:path'
import type { NodeKind } from '../../domains/fleet/rules.ts'
import type { Config } from '../settings/config.ts'

const folders: Readonly<Record<NodeKind, string>> = { gateway: 'gateway', vpn: 'vpn-node' }

/** Where a node of this kind keeps what is its own. */
export const nodeFolder = (config: Pick<Config, 'folder'>, kind: NodeKind): string => join(config.folder, folders[kind])
