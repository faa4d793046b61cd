import type { Command } from '../../cli/command.ts'
import { Refusal } from '../../kernel/refusal.ts'
import { realTiming } from '../../plane/agent/surroundings.ts'
import { findPredecessor } from '../../plane/gateway/handover/take-over.ts'
import { configOf } from '../process.ts'
import { toProcess } from '../program.ts'
import { nodeFolder } from './agent.ts'

/** How long the new process may take to take over. */
const withinMs = 60_000
const lookEveryMs = 100

/**
 * Exchanges the gateway that runs for one of the program as it is installed now. What is started here outlives this
 * command; where systemd looks after the gateway, it is told which process that is from now on.
 */
export const reloadCommand: Command = {
  name: 'gateway reload',
  summary: 'Exchanges the gateway that runs on this data folder for a new process; nobody who is connected notices.',
  takes: [],
  options: [],
  async run(given) {
    const folder = nodeFolder(configOf(given), 'gateway')
    const serving = async () => {
      const found = await findPredecessor(folder, realTiming)
      found?.close()
      return found?.who.pid
    }
    const before = await serving()
    if (before === undefined) throw new Refusal('missing', 'not_found', 'No gateway runs on this data folder.')
    const { TURNPIKE_LEASH: _, ...env } = process.env
    const flags = Object.entries(given.flags).flatMap(([flag, value]) =>
      flag === 'json' ? [] : [`--${flag}=${value}`],
    )
    const child = Bun.spawn(toProcess(['gateway', '--take-over', ...flags]), {
      stdin: 'ignore',
      // It outlives this command, and whoever reads what this command says waits for the end of it.
      stdout: 'ignore',
      stderr: 'inherit',
      env,
      detached: true,
    })
    const giveUpAt = realTiming.now() + withinMs
    while ((await serving()) !== child.pid) {
      const isOver = child.exitCode !== null || child.signalCode !== null
      if (isOver || realTiming.now() > giveUpAt) {
        child.kill()
        throw new Refusal(
          'conflict',
          'conflict',
          'The new process has not taken over, and has said why; the gateway goes on.',
        )
      }
      await realTiming.pause(lookEveryMs)
    }
    child.unref()
    return {
      json: { pid: child.pid, before },
      lines: [`Process ${child.pid} has taken over from ${before}, which ends when nobody is connected to it.`],
    }
  },
}
