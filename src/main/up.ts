import type { Command } from '../cli/command.ts'
import type { Log } from '../kernel/log.ts'
import { realTiming, type Timing } from '../plane/agent/surroundings.ts'
import { configOf, logOf, readOpened, tellSystemd, untilStopped } from './process.ts'
import { toProcess } from './program.ts'
import { localShopUrl } from './settings/config.ts'
import { isTls } from './settings/tls.ts'
import { assertNotTaken } from './shop/taken.ts'
import { unshownTokenIn } from './shop/unshown-token.ts'
import { type Opened, type Part, supervise } from './supervise.ts'

/** How long a part may take to end, besides what it waits for on purpose. */
const stopMs = 10_000

/** Runs a command of this program as a process of its own. Told to hang up, it reads its certificate again. */
const partOf = (name: string, flags: readonly string[], log: Log, hangUp?: EventTarget, endMs = stopMs): Part => ({
  name,
  async run(onOpen, stop) {
    // The standard input is the leash: should this process be killed outright, it breaks, and the child ends by itself.
    const child = Bun.spawn(toProcess([name, ...flags]), {
      stdin: 'pipe',
      stdout: 'inherit',
      stderr: 'inherit',
      env: { ...process.env, TURNPIKE_LEASH: '0', TURNPIKE_SUPERVISED: '1' },
      serialization: 'json',
      ipc: (said) => onOpen(readOpened(said)),
    })
    log.debug('started', { part: name, pid: child.pid })
    let killer: ReturnType<typeof setTimeout> | undefined
    const end = () => {
      child.kill('SIGTERM')
      killer = setTimeout(() => child.kill('SIGKILL'), endMs)
    }
    const hang = () => child.kill('SIGHUP')
    stop.addEventListener('abort', end)
    hangUp?.addEventListener('hangup', hang)
    if (stop.aborted) end()
    const code = await child.exited
    hangUp?.removeEventListener('hangup', hang)
    clearTimeout(killer)
    stop.removeEventListener('abort', end)
    return code
  },
})

/**
 * The `up` command. It supervises processes and loads none of their modules, so that it starts quickly and stays small.
 * Tests hand in a `timing` with shorter pauses between two starts of a part.
 */
export const createUpCommand = (timing: Timing): Command => ({
  name: 'up',
  summary:
    'Runs everything on this machine: the shop, a gateway and, with --local-nodes=vpn, a VPN node. ' +
    'Each is started again if it dies, and all are stopped in order.',
  takes: [],
  options: [],
  async run(given) {
    const config = configOf(given)
    await assertNotTaken(config)
    const log = logOf(config, 'up')
    const stop = new AbortController()
    const hangUp = new EventTarget()
    const passOn = isTls(config) ? () => void hangUp.dispatchEvent(new Event('hangup')) : undefined
    void untilStopped(() => passOn).then(() => stop.abort())
    const flags = Object.entries(given.flags).flatMap(([flag, value]) =>
      flag === 'json' || flag === 'local-nodes' ? [] : [`--${flag}=${value}`],
    )
    const isVpn = config.localNodes.includes('vpn')
    const nodeFlags = config.shopUrl === undefined ? [...flags, `--shop-url=${localShopUrl(config)}`] : flags
    const parts = [
      partOf(
        'shop',
        [...flags, `--local-nodes=${isVpn ? 'gateway,vpn' : 'gateway'}`],
        log,
        hangUp,
        stopMs + config.drainSeconds * 1000,
      ),
      partOf('gateway', nodeFlags, log, config.gatewayTlsPort > 0 ? hangUp : undefined),
      ...(isVpn ? [partOf('vpn-node', nodeFlags, log)] : []),
    ]
    const onAllOpen = (opened: readonly Opened[]): void => {
      tellSystemd('READY=1')
      process.stdout.write(opened.map((each) => each.banner ?? '').join(''))
      unshownTokenIn(config.folder).forget()
    }
    return { json: null, lines: [], exit: await supervise(parts, { log, timing, onAllOpen }, stop.signal) }
  },
})

export const upCommand: Command = createUpCommand(realTiming)
