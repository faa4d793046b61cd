import { join } from 'node:path'
import type { NodeKind } from '../../domains/fleet/rules.ts'
import type { Config } from '../settings/config.ts'

const folders: Readonly<Record<NodeKind, string>> = { gateway: 'gateway', vpn: 'vpn-node' }

export const nodeFolder = (config: Pick<Config, 'folder'>, kind: NodeKind): string => join(config.folder, folders[kind])
