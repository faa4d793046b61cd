import { createLocalCall } from '../../src/app/connect.ts'
import { createAdmin } from '../../src/app/shop/admin.ts'
import { realRuntime, type Services } from '../../src/app/shop/services.ts'
import { operationCommands } from '../../src/app/tool.ts'
import { type Command, type Outcome, readGiven } from '../../src/cli/command.ts'
import { toCommands } from '../../src/cli/operation-command.ts'
import { noStalls } from '../../src/core/stall-monitor.ts'
import { failureOf } from './failure.ts'

/** The operator's commands on services in this process. */
export function createTool(services: Services, now: () => number = Date.now) {
  const runtime = { ...realRuntime, clock: now, stalls: noStalls }
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const { bound } = createAdmin(services, runtime, () => 'https://shop.example', log)
  const commands: readonly Command[] = toCommands(operationCommands, (_given, work) =>
    work(createLocalCall(bound), 'test'),
  )
  const run = async (...typed: string[]): Promise<Outcome> => {
    const { command, given } = readGiven(commands, typed, [])
    return command.run(given)
  }
  return {
    run,
    // oxlint-disable-next-line typescript/no-explicit-any
    json: async (...typed: string[]): Promise<any> => (await run(...typed)).json,
    refused: async (...typed: string[]): Promise<string> =>
      (await failureOf(Promise.resolve().then(() => run(...typed)))).message,
  }
}
