import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type Given, machineCommand, mistyped, type Outcome } from '../../cli/command.ts'
import { contains, formatPrefix, type Prefix, prefixAround, readAddress, readPrefix } from '../../core/address.ts'
import { refuseHere } from '../../core/refusal.ts'
import { createTryAddress } from '../../dataplane/gateway/engines/shared/try-address.ts'
import { findProgram, runProgram } from '../../dataplane/wireguard/run.ts'
import {
  bindSetting,
  countAddresses,
  endsOf,
  findNetworkProgram,
  maxOnDevice,
  type NetworkProgram,
  networkdFolder,
  networkPrograms,
  ownNetworkFile,
  pathsOf,
  type RangeSetup,
  routersIn,
  runtimeCommands,
  type SetupFile,
  setupFiles,
  sysctlPath,
  undoBindSetting,
  undoCommands,
} from './plan.ts'

const interfacesFile = '/etc/network/interfaces'

export const rangeCommand = machineCommand({
  name: 'range setup',
  summary: "Prints what this machine's network needs so that a gateway can use every address of a range.",
  takes: [{ name: 'PREFIX', meaning: 'the range, such as 203.0.113.0/24 or 2001:db8::/48, or one address' }],
  options: [
    {
      flag: 'device',
      value: 'DEV',
      meaning: `puts each of at most ${maxOnDevice} addresses on this device; for a range that is not routed here`,
    },
    { flag: 'as', value: 'PROGRAM', meaning: 'networkd, netplan or ifupdown; the one of this machine unless given' },
    { flag: 'apply', meaning: 'writes the files and sets the addresses now, as root; repeating it changes nothing' },
    { flag: 'remove', meaning: 'deletes the files and the addresses again, as root; with the same --device' },
  ],
  run: runSetup,
})

async function runSetup(given: Given): Promise<Outcome> {
  const setup = readSetup(given)
  const [applies, removes] = [given.has('apply'), given.has('remove')]
  if (applies && removes) throw mistyped('"range setup" takes --apply or --remove, not both.')
  if (process.platform !== 'linux') throw refuseHere('A range can be set up on Linux only.')
  if (applies || removes) assertRoot(applies ? '--apply' : '--remove')
  if (removes) return remove(setup)
  await assertNoRouter(setup.prefix)
  const as = readProgram(given.flags['as'])
  const files = setupFiles(setup, as, as === 'networkd' ? await findNetworkFile(setup.device) : undefined)
  return applies ? apply(setup, as, files) : print(setup, as, files)
}

function readSetup({ args, flags }: Given): RangeSetup {
  const prefix = readPrefix(args[0] ?? '')
  const { device } = flags
  if (!prefix) {
    const meant = prefixAround(args[0] ?? '')
    const example = meant ? `Did you mean ${formatPrefix(meant)}?` : 'Write it like 203.0.113.0/24.'
    throw mistyped(`"${args[0]}" is no range. ${example}`)
  }
  if (device !== undefined && !/^[A-Za-z0-9_.-]{1,15}$/.test(device)) {
    throw mistyped(`"${device}" is no name of a device. "ip link" lists them.`)
  }
  if (device !== undefined && countAddresses(prefix) > maxOnDevice) {
    throw mistyped(
      `${formatPrefix(prefix)} has more than ${maxOnDevice} addresses. Have it routed to this machine, and leave out ` +
        '--device; or name a smaller range.',
    )
  }
  return { prefix, device }
}

function readProgram(given: string | undefined): NetworkProgram {
  const named = networkPrograms.find((each) => each === given)
  if (given !== undefined && !named) throw mistyped(`--as is ${networkPrograms.join(', ')}; not "${given}".`)
  const found =
    named ??
    findNetworkProgram({
      hasNetplan:
        findProgram('netplan') !== undefined && namesIn('/etc/netplan').some((name) => name.endsWith('.yaml')),
      hasNetworkd: existsSync('/run/systemd/netif/state'),
      hasInterfaces: existsSync(interfacesFile),
    })
  if (found) return found
  throw mistyped('This machine uses neither systemd-networkd nor netplan nor ifupdown. Name one with --as.')
}

const namesIn = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : [])

function assertRoot(flag: string): void {
  if (process.geteuid?.() === 0) return
  throw refuseHere(
    `Only root may change the network of this machine. Run "turnpike range setup" with ${flag} as root, ` +
      'or without it: then it prints the files and commands.',
  )
}

/** A local route takes packets for every address of the range, also those for the router. */
async function assertNoRouter(prefix: Prefix): Promise<void> {
  const family = prefix.base.version === 4 ? '-4' : '-6'
  const { out } = await runProgram(['ip', family, 'route', 'show', 'table', 'all'])
  const router = routersIn(out).find((text) => {
    const address = readAddress(text)
    return address !== undefined && contains(prefix, address)
  })
  if (router === undefined) return
  throw refuseHere(
    `${formatPrefix(prefix)} contains ${router}, the router of this machine: the machine would lose its network. ` +
      'Name only the addresses that are yours, range by range.',
  )
}

/** The name of the file that systemd-networkd configures a device with. */
async function findNetworkFile(device: string | undefined): Promise<string> {
  const { out } = await runProgram(['networkctl', '--no-pager', 'status', device ?? 'lo'])
  const path = /^\s*Network File: (\/\S+\.network)$/m.exec(out)?.[1]
  if (path !== undefined) return basename(path)
  if (device === undefined) return ownNetworkFile
  throw refuseHere(
    `systemd-networkd has no file for ${device}. Name the program that configures it with --as, or leave out --device.`,
  )
}

const toLines = (commands: readonly (readonly string[])[]): string[] => commands.map((each) => each.join(' '))

const toJson = (setup: RangeSetup, as: NetworkProgram, files: readonly SetupFile[]) => ({
  range: formatPrefix(setup.prefix),
  as,
  files: files.map(({ path, text }) => ({ path, text })),
  commands: toLines(runtimeCommands(setup)),
})

function print(setup: RangeSetup, as: NetworkProgram, files: readonly SetupFile[]): Outcome {
  return {
    json: { ...toJson(setup, as, files), applied: false },
    lines: [
      `For ${formatPrefix(setup.prefix)} this machine needs these files. --apply writes them, as root.`,
      ...files.flatMap(({ path, text }) => ['', `${path}:`, '', ...text.trimEnd().split('\n')]),
      '',
      'They take effect at the next start of the machine. Until then run, as root:',
      '',
      ...toLines(runtimeCommands(setup)),
    ],
  }
}

async function apply(setup: RangeSetup, as: NetworkProgram, files: readonly SetupFile[]): Promise<Outcome> {
  if (as === 'ifupdown') assertInterfacesRead()
  for (const command of runtimeCommands(setup)) {
    const { code, err } = await runProgram(command)
    if (code !== 0) throw refuseHere(`No file was written, because "${command.join(' ')}" failed: ${err.trim()}`)
  }
  const changed = files.filter(({ path, text }) => !existsSync(path) || readFileSync(path, 'utf8') !== text)
  for (const file of changed) write(file)
  const problems = await findProblems(endsOf(setup.prefix))
  return {
    json: { ...toJson(setup, as, files), applied: true, changed: changed.map(({ path }) => path), problems },
    lines: [
      ...files.map((file) => `${file.path}: ${changed.includes(file) ? 'written' : 'unchanged'}`),
      ...(problems.length > 0
        ? problems
        : [
            `A gateway on this machine can use ${formatPrefix(setup.prefix)} now and after a restart.`,
            'It tries the addresses every 10 seconds; "turnpike stock ranges" shows the result.',
          ]),
    ],
    exit: problems.length > 0 ? 1 : 0,
  }
}

/** The kernel makes an added IPv6 address usable in a work queue, also without duplicate address detection. */
const usableWithinMs = 2_000
const lookEveryMs = 20

/** The problems that are left when the kernel has had the time to make the addresses usable. */
async function findProblems(addresses: readonly string[]): Promise<string[]> {
  for (let waitedMs = 0; ; waitedMs += lookEveryMs) {
    const problems = addresses.flatMap(findProblem)
    if (problems.length === 0 || waitedMs >= usableWithinMs) return problems
    await Bun.sleep(lookEveryMs)
  }
}

/** The gateway's own check. The edges of a network that the machine is on are not served in any case. */
function findProblem(text: string): string[] {
  const address = readAddress(text)
  const problem = address && createTryAddress(process.platform)(address)
  if (problem === undefined || problem === 'edge_of_its_network') return []
  return [`A gateway cannot use ${text}: ${problem.replaceAll('_', ' ')}.`]
}

function assertInterfacesRead(): void {
  const text = existsSync(interfacesFile) ? readFileSync(interfacesFile, 'utf8') : ''
  if (/^\s*source(-directory)?\s+\S*interfaces\.d\b/m.test(text)) return
  throw refuseHere(
    `${interfacesFile} does not read the folder interfaces.d. Add the line "source /etc/network/interfaces.d/*" to it.`,
  )
}

function write({ path, text, mode }: SetupFile): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 })
  const draft = join(dirname(path), `.${basename(path)}.new`)
  writeFileSync(draft, text)
  chmodSync(draft, mode)
  renameSync(draft, path)
}

async function remove(setup: RangeSetup): Promise<Outcome> {
  const folders = namesIn(networkdFolder).filter((name) => name.endsWith('.network.d'))
  const networkFiles = folders.map((name) => name.slice(0, -'.d'.length))
  const removed = pathsOf(setup.prefix, networkFiles).filter((path) => existsSync(path))
  for (const path of removed) {
    rmSync(path)
    if (path.startsWith(`${networkdFolder}/`) && namesIn(dirname(path)).length === 0) rmdirSync(dirname(path))
  }
  const own = join(networkdFolder, ownNetworkFile)
  if (existsSync(own) && !existsSync(`${own}.d`)) {
    rmSync(own)
    removed.push(own)
  }
  // An address that is not there any more cannot be deleted, which is as well.
  for (const command of undoCommands(setup)) await runProgram(command)
  return {
    json: { range: formatPrefix(setup.prefix), removed },
    lines: [
      ...removed.map((path) => `${path}: deleted`),
      ...(removed.includes(sysctlPath(setup.prefix)) ? [await releaseBindSetting()] : []),
      `${formatPrefix(setup.prefix)} is no longer set up on this machine.`,
    ],
  }
}

/** Sets what the machine would have after its next start. */
async function releaseBindSetting(): Promise<string> {
  const folders = ['/etc/sysctl.d', '/run/sysctl.d', '/usr/local/lib/sysctl.d', '/usr/lib/sysctl.d']
  const paths = folders.flatMap((folder) => namesIn(folder).map((name) => join(folder, name)))
  const isSetIn = (path: string) => /\bnet[./]ipv6[./]ip_nonlocal_bind\b/.test(readFileSync(path, 'utf8'))
  const other = [...paths, '/etc/sysctl.conf'].find((path) => existsSync(path) && isSetIn(path))
  if (other !== undefined) return `${bindSetting}: unchanged, because ${other} sets it`
  const { code, err } = await runProgram(undoBindSetting)
  return code === 0 ? `${bindSetting}: 0, because no file sets it any more` : `${bindSetting}: unchanged: ${err.trim()}`
}
