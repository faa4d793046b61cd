import { addressFromNumber, addressToNumber, formatAddress, type Prefix } from '../../core/address.ts'

/** Programs that configure the network at the start of a machine. */
export const networkPrograms = ['networkd', 'netplan', 'ifupdown'] as const
export type NetworkProgram = (typeof networkPrograms)[number]

/** A range and the device that gets each of its addresses. Without a device the range is a local route of `lo`. */
export type RangeSetup = { readonly prefix: Prefix; readonly device: string | undefined }

export type SetupFile = { readonly path: string; readonly text: string; readonly mode: number }

/** Each address on a device is an entry in its file. */
export const maxOnDevice = 256

export const networkdFolder = '/etc/systemd/network'
/** Used for `lo` if no other file of systemd-networkd configures it. */
export const ownNetworkFile = '60-turnpike.network'

const bitsOf = ({ base }: Prefix): number => base.bytes.length * 8
const withLength = ({ base, length }: Prefix): string => `${formatAddress(base)}/${length}`

export const countAddresses = (prefix: Prefix): bigint => 1n << BigInt(bitsOf(prefix) - prefix.length)

const addressAt = ({ base }: Prefix, offset: bigint): string =>
  formatAddress(addressFromNumber(base.version, addressToNumber(base) + offset))

/** The first and the last address. */
export const endsOf = (prefix: Prefix): readonly [string, string] => [
  addressAt(prefix, 0n),
  addressAt(prefix, countAddresses(prefix) - 1n),
]

const addressesOn = (prefix: Prefix): string[] =>
  Array.from(
    { length: Number(countAddresses(prefix)) },
    (_, at) => `${addressAt(prefix, BigInt(at))}/${bitsOf(prefix)}`,
  )

/**
 * Without this setting bind() takes only an IPv6 address that an interface has. It takes any IPv4 address of a local
 * route.
 */
export const bindSetting = 'net.ipv6.ip_nonlocal_bind'

const needsBindSetting = ({ prefix, device }: RangeSetup): boolean => device === undefined && prefix.base.version === 6

const changeOf = (setup: RangeSetup, verb: 'replace' | 'del'): string[][] => {
  const { prefix, device } = setup
  if (device === undefined) return [['ip', 'route', verb, 'local', withLength(prefix), 'dev', 'lo']]
  // Duplicate address detection would keep an address from use for a second.
  const flags = prefix.base.version === 6 && verb === 'replace' ? ['nodad'] : []
  return addressesOn(prefix).map((address) => ['ip', 'address', verb, address, 'dev', device, ...flags])
}

/** Commands with the effect of the files, until the machine restarts. */
export const runtimeCommands = (setup: RangeSetup): string[][] => [
  ...(needsBindSetting(setup) ? [['sysctl', '-q', '-w', `${bindSetting}=1`]] : []),
  ...changeOf(setup, 'replace'),
]

/** Commands that undo them, except the setting of bind(). */
export const undoCommands = (setup: RangeSetup): string[][] => changeOf(setup, 'del')

/** The command that undoes the setting of bind(), if no file sets it any more. */
export const undoBindSetting = ['sysctl', '-q', '-w', `${bindSetting}=0`]

/** Part of a file name. ifupdown reads names of letters, digits, `-` and `_` only. */
const tagOf = (prefix: Prefix): string => `turnpike-${withLength(prefix).replace(/[^0-9a-f]/g, '-')}`

export const sysctlPath = (prefix: Prefix): string => `/etc/sysctl.d/60-${tagOf(prefix)}.conf`
const netplanPath = (prefix: Prefix): string => `/etc/netplan/60-${tagOf(prefix)}.yaml`
const ifupdownPath = (prefix: Prefix): string => `/etc/network/interfaces.d/${tagOf(prefix)}`
const networkdPath = (prefix: Prefix, networkFile: string): string =>
  `${networkdFolder}/${networkFile}.d/${tagOf(prefix)}.conf`

/** Every file that `setupFiles` may have written for the range; `networkFiles` are systemd-networkd's. */
export const pathsOf = (prefix: Prefix, networkFiles: readonly string[]): string[] => [
  ...networkFiles.map((file) => networkdPath(prefix, file)),
  netplanPath(prefix),
  ifupdownPath(prefix),
  sysctlPath(prefix),
]

/**
 * The files that put the range on this machine at every start. `networkFile` is the file that systemd-networkd
 * configures the device with: it takes one file per device, and drop-ins of that file.
 */
export function setupFiles(setup: RangeSetup, as: NetworkProgram, networkFile = ownNetworkFile): SetupFile[] {
  const { prefix } = setup
  const heading = `# Written by "turnpike range setup ${withLength(prefix)}". With --remove it deletes this file.`
  const file = (path: string, lines: readonly string[], mode = 0o644): SetupFile => ({
    path,
    text: `${[heading, ...lines].join('\n')}\n`,
    mode,
  })
  const own = `${networkdFolder}/${ownNetworkFile}`
  const files = {
    networkd: () => [
      ...(networkFile === ownNetworkFile ? [{ path: own, text: '[Match]\nName=lo\n', mode: 0o644 }] : []),
      file(networkdPath(prefix, networkFile), networkdLines(setup)),
    ],
    netplan: () => [file(netplanPath(prefix), netplanLines(setup), 0o600)],
    ifupdown: () => [file(ifupdownPath(prefix), ifupdownLines(setup))],
  }[as]()
  return needsBindSetting(setup) ? [...files, file(sysctlPath(prefix), [`${bindSetting} = 1`])] : files
}

function networkdLines({ prefix, device }: RangeSetup): string[] {
  if (device === undefined) return ['[Route]', 'Type=local', `Destination=${withLength(prefix)}`]
  const noDetection = prefix.base.version === 6 ? ['DuplicateAddressDetection=none'] : []
  return addressesOn(prefix).flatMap((address) => ['[Address]', `Address=${address}`, ...noDetection])
}

function netplanLines({ prefix, device }: RangeSetup): string[] {
  const head = ['network:', '  version: 2', '  ethernets:']
  if (device !== undefined) {
    const addresses = addressesOn(prefix).map((address) => `        - "${address}"`)
    return [...head, `    ${device}:`, '      addresses:', ...addresses]
  }
  const route = ['      routes:', `        - to: "${withLength(prefix)}"`, '          type: local']
  return [...head, '    lo:', '      match:', '        name: lo', ...route]
}

function ifupdownLines(setup: RangeSetup): string[] {
  const { prefix, device = 'lo' } = setup
  const family = prefix.base.version === 4 ? 'inet' : 'inet6'
  return [
    // The operator's own file starts a device that is not `lo`.
    ...(device === 'lo' ? ['auto lo'] : []),
    `iface ${device} ${family} manual`,
    ...changeOf(setup, 'replace').map((command) => `    up ${command.join(' ')}`),
    ...changeOf(setup, 'del').map((command) => `    down ${command.join(' ')}`),
  ]
}

/** The program that configures this machine's network, by the traces that it leaves. */
export function findNetworkProgram(traces: {
  readonly hasNetplan: boolean
  readonly hasNetworkd: boolean
  readonly hasInterfaces: boolean
}): NetworkProgram | undefined {
  // netplan writes the files of systemd-networkd, so it comes first.
  if (traces.hasNetplan) return 'netplan'
  if (traces.hasNetworkd) return 'networkd'
  return traces.hasInterfaces ? 'ifupdown' : undefined
}

/** The routers in the output of `ip route`. */
export const routersIn = (routes: string): string[] =>
  [...routes.matchAll(/\bvia (?:inet6? )?(\S+)/g)].map(([, router = '']) => router)
