import type { Command, Given } from '../cli/command.ts'
import type { Log } from '../core/log.ts'
import { realTiming, type Timing } from '../dataplane/agent/runtime.ts'
import { configOf, logOf, readOpened, tellSystemd, untilStopped } from './process.ts'
import { toProcess } from './program.ts'
import { makeSandboxCertificate, planSandboxTls, type SandboxTls } from './sandbox-tls.ts'
import type { SandboxVpn } from './sandbox-vpn.ts'
import { type Config, localShopUrl, settings } from './settings/config.ts'
import { assertGatewayTls, isTls } from './settings/tls.ts'
import { assertNotTaken, unshownTokenIn } from './shop/data-folder.ts'
import { type Opened, type Part, supervise } from './supervise.ts'

/** How long a part may take to end, besides its drain time. */
const stopMs = 10_000

/** Runs a command of this program as a process. SIGHUP makes it read its certificate again. */
const partOf = (name: string, command: string[], log: Log, hangUp?: EventTarget, endMs = stopMs): Part => ({
  name,
  async run(onOpen, stop) {
    // The child reads its standard input as a leash: when this process is killed, the pipe closes and the child exits.
    const child = Bun.spawn(command, {
      stdin: 'pipe',
      stdout: 'inherit',
      stderr: 'inherit',
      env: { ...process.env, TURNPIKE_LEASH: '0', TURNPIKE_SUPERVISED: '1' },
      serialization: 'json',
      ipc: (message) => onOpen(readOpened(message)),
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

/** Plans a VPN node if TURNPIKE_LOCAL_NODES is not set or names sandbox-vpn. */
async function planVpn(config: Config, flags: Given['flags']): Promise<SandboxVpn | undefined> {
  const { flag, env } = settings.localNodes
  const isSet = flags[flag] !== undefined || process.env[env] !== undefined
  if (!config.sandbox || (isSet && !config.localNodes.includes('sandbox-vpn'))) return undefined
  const { planSandboxVpn } = await import('./sandbox-vpn.ts')
  return planSandboxVpn(config, flags)
}

/** Lines for the terminal, each once, after the banner. */
function createTerminal() {
  let waiting: string | undefined = ''
  const shown = new Set<string>()
  return {
    print(line: string): void {
      if (shown.has(line)) return
      shown.add(line)
      if (waiting === undefined) process.stdout.write(`${line}\n`)
      else waiting += `${line}\n`
    },
    begin(banner: string): void {
      process.stdout.write(banner + (waiting === undefined || waiting === '' ? '' : `\n${waiting}`))
      waiting = undefined
    },
  }
}

/**
 * How long a gateway waits to learn whether the shop is a sandbox. One that has joined serves without its shop, so it
 * waits less.
 */
const modeWithinMs = { joined: 5000, fresh: 20_000 }

const withoutVpn = (problem: string, tls: SandboxTls | undefined): string =>
  `No WireGuard node runs here: ${problem} ` +
  (tls?.gateway
    ? `VPN works over TLS, on port ${tls.port} of this machine.`
    : 'A VPN that is bought meanwhile does not connect, and says so in "warnings".')

/** A gateway that serves VPN devices over TLS if the shop is a sandbox: `mode` resolves when the shop has opened. */
function gatewayPartOf(
  toGateway: (flags: readonly string[]) => Part,
  flags: readonly string[],
  tls: SandboxTls | undefined,
  mode: Promise<boolean>,
  { config, timing }: { readonly config: Config; readonly timing: Timing },
): Part {
  const usual = toGateway(flags)
  if (!tls?.gateway) return usual
  const port = `--${settings.gatewayTlsPort.flag}=`
  const others = flags.filter((flag) => !flag.startsWith(port))
  const overTls = toGateway([...others, ...tls.gateway])
  // A port without a certificate would end `up`: the shop may still turn out to be a sandbox.
  const withoutTls = toGateway([...others, `${port}0`])
  return {
    name: usual.name,
    async run(onOpen, stop) {
      const withinMs = modeWithinMs[tls.hasJoined ? 'joined' : 'fresh']
      const unknown = timing.pause(withinMs, stop).then(() => undefined)
      const isSandbox = tls.isKnown || (await Promise.race([mode, unknown]))
      if (stop.aborted) return 0
      if (!isSandbox) return (isSandbox === false ? usual : withoutTls).run(onOpen, stop)
      makeSandboxCertificate(config)
      return overTls.run(onOpen, stop)
    },
  }
}

/** The flags that every part gets. */
const passedOn = (flags: Given['flags']): string[] =>
  Object.entries(flags).flatMap(([flag, value]) =>
    flag === 'json' || flag === 'local-nodes' ? [] : [`--${flag}=${value}`],
  )

/** An optional VPN node that starts when the shop has reported that it is a sandbox. */
const sandboxPartOf = (
  node: Part,
  sandbox: Promise<void>,
  says: string,
  tls: SandboxTls | undefined,
  terminal: ReturnType<typeof createTerminal>,
): Part => ({
  name: node.name,
  onGivenUp: () => terminal.print(withoutVpn('it could not be started; the log says why.', tls)),
  async run(onOpen, stop) {
    const { promise: stopped, resolve } = Promise.withResolvers<void>()
    stop.addEventListener('abort', () => resolve())
    await Promise.race([sandbox, stopped])
    if (stop.aborted) return 0
    return node.run((opened) => {
      terminal.print(`${says} "--local-nodes gateway" starts none.`)
      onOpen(opened)
    }, stop)
  },
})

/**
 * Supervises processes and loads none of their modules. Tests pass a `timing` with short pauses, and the command line
 * of another build of this program.
 */
export const createUpCommand = (timing: Timing, toCommand = toProcess): Command => ({
  name: 'up',
  summary:
    'Runs everything on this machine: the shop, a gateway and, with --local-nodes=vpn, a VPN node. A sandbox gets a ' +
    'VPN node by itself where the machine allows it, unless --local-nodes says otherwise. ' +
    'Each is started again if it dies, and all are stopped in order.',
  takes: [],
  options: [],
  async run(given) {
    const config = configOf(given)
    const tls = planSandboxTls(config, given.flags)
    if (!tls) assertGatewayTls(config)
    await assertNotTaken(config)
    const log = logOf(config, 'up')
    const stop = new AbortController()
    const hangUp = new EventTarget()
    const passOn = isTls(config) ? () => void hangUp.dispatchEvent(new Event('hangup')) : undefined
    void untilStopped(() => passOn).then(() => stop.abort())
    const flags = passedOn(given.flags)
    const isVpn = config.localNodes.includes('vpn')
    const planned = isVpn ? undefined : await planVpn(config, given.flags)
    const vpn = planned?.flags ? planned : undefined
    const nodeFlags = config.shopUrl === undefined ? [...flags, `--shop-url=${localShopUrl(config)}`] : flags
    const local = ['gateway', ...(isVpn ? ['vpn'] : vpn ? ['sandbox-vpn'] : [])]
    const shopFlags = [...flags, ...(vpn?.flags ?? []), ...(tls?.shop ?? []), `--local-nodes=${local.join(',')}`]
    const shop = partOf('shop', toCommand(['shop', ...shopFlags]), log, hangUp, stopMs + config.drainSeconds * 1000)
    const nodeOf = (own: readonly string[]): Part =>
      partOf('vpn-node', toCommand(['vpn-node', ...nodeFlags, ...own]), log)
    const terminal = createTerminal()
    const sandbox = Promise.withResolvers<void>()
    const mode = Promise.withResolvers<boolean>()
    const onTls = config.gatewayTlsPort > 0 || tls?.gateway ? hangUp : undefined
    const toGateway = (own: readonly string[]): Part => partOf('gateway', toCommand(['gateway', ...own]), log, onTls)
    const parts: Part[] = [
      {
        name: shop.name,
        run: (onOpen, end) =>
          shop.run((opened) => {
            mode.resolve(opened.isSandbox === true)
            if (opened.isSandbox) sandbox.resolve()
            if (opened.isSandbox && planned && !planned.flags) terminal.print(withoutVpn(planned.problem, tls))
            if (opened.isSandbox && tls && !tls.gateway) terminal.print(`No VPN over TLS here: ${tls.problem}`)
            onOpen(opened)
          }, end),
      },
      gatewayPartOf(toGateway, nodeFlags, tls, mode.promise, { config, timing }),
      ...(isVpn ? [nodeOf([])] : []),
      ...(vpn ? [sandboxPartOf(nodeOf(vpn.flags), sandbox.promise, vpn.says, tls, terminal)] : []),
    ]
    const onAllOpen = (opened: readonly Opened[]): void => {
      tellSystemd('READY=1')
      terminal.begin(opened.map((each) => each.banner ?? '').join(''))
      unshownTokenIn(config.folder).forget()
    }
    return { json: null, lines: [], exit: await supervise(parts, { log, timing, onAllOpen }, stop.signal) }
  },
})

export const upCommand: Command = createUpCommand(realTiming)
