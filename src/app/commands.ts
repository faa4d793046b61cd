import type { Command } from '../cli/command.ts'
import { completionCommand } from '../cli/completion.ts'
import { backupCommands } from './backup/commands.ts'
import { doctorCommand } from './doctor/machine.ts'
import { mcpCommand } from './mcp.ts'
import { gatewayCommands } from './node/gateway.ts'
import { vpnNodeCommands } from './node/vpn.ts'
import { commonOptions } from './process.ts'
import { rangeCommand } from './range/command.ts'
import { readyCommand } from './ready.ts'
import { shopCommand } from './shop/shop.ts'
import { toolCommands } from './tool.ts'
import { upCommand } from './up.ts'

export const commands: readonly Command[] = [
  upCommand,
  shopCommand,
  readyCommand,
  ...gatewayCommands,
  ...vpnNodeCommands,
  rangeCommand,
  ...backupCommands,
  doctorCommand,
  mcpCommand,
  ...toolCommands,
  completionCommand(() => commands, commonOptions),
]
