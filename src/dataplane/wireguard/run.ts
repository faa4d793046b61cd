import { existsSync, readFileSync } from 'node:fs'
import { release } from 'node:os'
import { refuseHere } from '../../core/refusal.ts'

type Outcome = { readonly code: number; readonly out: string; readonly err: string }

/** Runs a program without a shell, with a time limit. */
export type RunProgram = (command: readonly string[], input?: string) => Promise<Outcome>

/** Ignores the environment's PATH. */
export const programPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export const findProgram = (name: string): string | undefined => Bun.which(name, { PATH: programPath }) ?? undefined

const withinMs = 10_000
const maxOutput = 64 * 1024 * 1024

/** The input is readable as /dev/stdin and never written to disk. */
export const runProgram: RunProgram = async (command, input = '') => {
  const [name = '', ...args] = command
  const program = findProgram(name)
  if (program === undefined) return { code: 127, out: '', err: `${name} is not installed` }
  const child = Bun.spawn([program, ...args], {
    env: { PATH: programPath, LC_ALL: 'C' },
    stdin: Buffer.from(input),
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: withinMs,
    killSignal: 'SIGKILL',
    maxBuffer: maxOutput,
  })
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  const cut = child.signalCode === null ? '' : ` (ended by ${child.signalCode})`
  return { code: child.exitCode ?? 1, out, err: err + cut }
}

/** The input is not shown: it may contain a key. */
class CommandFailed extends Error {
  override readonly name = 'CommandFailed'

  constructor(command: readonly string[], { code, err }: Outcome) {
    const text = command.slice(0, 12).join(' ')
    super(`${text}${command.length > 12 ? ' …' : ''} failed with ${code}: ${err.trim().slice(0, 500)}`)
  }
}

export async function must(run: RunProgram, command: readonly string[], input?: string): Promise<string> {
  const outcome = await run(command, input)
  if (outcome.code !== 0) throw new CommandFailed(command, outcome)
  return outcome.out
}

export type Machine = Omit<ReturnType<typeof lookAtMachine>, 'platform'> & { readonly platform: string }

type Missing = { readonly what: string; readonly how: string }

const debian = (name: string): string => `On Debian or Ubuntu: apt-get install ${name}.`

const programs = [
  { name: 'wg', use: 'which drives WireGuard', package: 'wireguard-tools' },
  { name: 'ip', use: 'which makes and addresses the device', package: 'iproute2' },
  { name: 'nft', use: 'which makes the firewall', package: 'nftables' },
] as const

export function findMissing(machine: Machine): Missing[] {
  if (machine.platform !== 'linux') {
    return [{ what: 'Linux', how: 'A VPN node runs on Linux: WireGuard, nftables and tc are used as they are there.' }]
  }
  const missing: Missing[] = []
  if (!machine.mayChangeNetwork) {
    missing.push({
      what: 'the right to change the network (CAP_NET_ADMIN)',
      how: 'Run it as root; in a container also with --cap-add NET_ADMIN.',
    })
  }
  for (const each of programs) {
    if (machine.hasProgram(each.name)) continue
    missing.push({ what: `the program ${each.name}, ${each.use}`, how: debian(each.package) })
  }
  if (machine.kernelHasWireguard) return missing
  if (!machine.hasProgram('wireguard-go')) {
    missing.push({
      what: 'WireGuard: this kernel has none, and the program wireguard-go, which does without, is not there',
      how: debian('wireguard-go'),
    })
  }
  if (!machine.hasTun) {
    missing.push({
      what: '/dev/net/tun, which wireguard-go needs',
      how: 'As root: modprobe tun; in a container: --device /dev/net/tun.',
    })
  }
  return missing
}

export function refuseMissing(missing: readonly Missing[]): void {
  if (missing.length === 0) return
  const list = missing.map((each) => `- ${each.what}. ${each.how}`).join('\n')
  throw refuseHere(`This machine cannot be a VPN node yet. Missing:\n${list}`, 'vpn_node_lacks', { missing })
}

export const lookAtMachine = () => ({
  platform: process.platform,
  mayChangeNetwork: hasNetAdmin(readIfThere('/proc/self/status')),
  hasProgram: (name: string) => findProgram(name) !== undefined,
  kernelHasWireguard: hasModule('wireguard'),
  hasTun: existsSync('/dev/net/tun'),
})

/** CAP_NET_ADMIN is bit 12 (capabilities(7)). */
export function hasNetAdmin(status: string): boolean {
  const effective = /^CapEff:\s*([0-9a-f]{1,16})$/m.exec(status)?.[1]
  return effective !== undefined && ((BigInt(`0x${effective}`) >> 12n) & 1n) === 1n
}

/** Loaded, built in, or loadable. */
function hasModule(name: string): boolean {
  if (existsSync(`/sys/module/${name}`)) return true
  const folder = `/lib/modules/${release()}`
  return ['modules.builtin', 'modules.dep'].some((list) =>
    new RegExp(`(^|/)${name}\\.ko`, 'm').test(readIfThere(`${folder}/${list}`)),
  )
}

const readIfThere = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '')
