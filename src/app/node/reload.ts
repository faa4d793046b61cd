import { readFileSync } from 'node:fs'
import { machineCommand } from '../../cli/command.ts'
import { refuseHere } from '../../core/refusal.ts'
import { realTiming } from '../../dataplane/agent/runtime.ts'
import { findPredecessor } from '../../dataplane/gateway/handover/handover.ts'
import { configOf } from '../process.ts'
import { toProcess } from '../program.ts'
import { nodeFolder } from '../settings/config.ts'

const withinMs = 60_000
const lookEveryMs = 100
/** Marks the process between this command and the new gateway. */
const mark = 'TURNPIKE_BETWEEN'

/** Replaces the running gateway by one of the installed program. The new process outlives this command. */
export const reloadCommand = machineCommand({
  name: 'gateway reload',
  summary: 'Replaces the gateway that runs on this data folder by a new process, without closing a connection.',
  async run(given) {
    const flags = Object.entries(given.flags).flatMap(([flag, value]) =>
      flag === 'json' ? [] : [`--${flag}=${value}`],
    )
    if (process.env[mark] === '1') return { json: null, lines: [String(startGateway(flags))] }
    const folder = nodeFolder(configOf(given), 'gateway')
    const serving = async () => {
      const found = await findPredecessor(folder, realTiming)
      found?.close()
      return found?.who.pid
    }
    const before = await serving()
    if (before === undefined)
      throw refuseHere(`No gateway runs on ${folder}. Start one, or name its data folder with --data.`, 'not_found')
    // systemd must run the reload: otherwise the end of its main process would be the end of the service.
    if (process.env['NOTIFY_SOCKET'] === undefined && isOfSystemd(before)) {
      throw refuseHere('systemd supervises the running gateway. Replace it with "systemctl reload turnpike-gateway".')
    }
    const pid = await startApart(flags)
    const giveUpAt = realTiming.now() + withinMs
    while ((await serving()) !== pid) {
      if (!isRunning(pid) || realTiming.now() > giveUpAt) {
        if (isRunning(pid)) process.kill(pid)
        throw refuseHere('The new process has not taken over; the reason is above. The running gateway continues.')
      }
      await realTiming.pause(lookEveryMs)
    }
    return {
      json: { pid, before },
      lines: [`Process ${pid} has taken over from ${before}, which ends after its last connection closes.`],
    }
  },
})

function isOfSystemd(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8')
      .split('\0')
      .some((each) => each.startsWith('NOTIFY_SOCKET='))
  } catch {
    return false
  }
}

/** Starts the gateway through a process that ends at once, so that systemd is its parent and stops it gracefully. */
async function startApart(flags: readonly string[]): Promise<number> {
  const between = Bun.spawn(toProcess(['gateway', 'reload', ...flags]), {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
    env: { ...process.env, [mark]: '1' },
  })
  const pid = Number(await between.stdout.text())
  if (pid > 0) return pid
  throw refuseHere('No new process could be started. The running gateway continues.', 'unavailable')
}

function startGateway(flags: readonly string[]): number {
  const { TURNPIKE_LEASH: _, [mark]: __, ...env } = process.env
  const child = Bun.spawn(toProcess(['gateway', '--take-over', ...flags]), {
    stdin: 'ignore',
    // It outlives this command, and a reader of this command's output waits for its end.
    stdout: 'ignore',
    stderr: 'inherit',
    env,
    detached: true,
  })
  child.unref()
  return child.pid
}

/** Whether a process that is not a child runs; a zombie does not. */
function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
