import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { addressFromNumber, contains, type Prefix, readPrefix } from '../core/address.ts'
import { findFile, writeOwnFile } from '../dataplane/agent/own-file.ts'
import { readChanges } from '../dataplane/wireguard/changes.ts'
import { findMissing, findProgram, lookAtMachine, runProgram } from '../dataplane/wireguard/run.ts'
import { nodeFolder } from './node/folder.ts'
import { type Config, settings } from './settings/config.ts'

/** What a VPN node takes of its machine: the network device, the UDP port, and the networks of its customers. */
type VpnSlot = { readonly device: string; readonly port: number; readonly pool: string; readonly ula: string }

const maxSlots = 16
const orphanMs = 3000
const lookEveryMs = 25

const slotOf = (number: number): VpnSlot => ({
  device: `tpvpn${number}`,
  port: 51_820 + number,
  pool: `10.${66 + number}.0.0/16`,
  ula: number === 0 ? 'fd74:7572:6e70::/64' : `fd74:7572:6e70:${number.toString(16)}::/64`,
})

/** Settings of a place. An operator who has set one of them has chosen. */
const slotSettings = ['vpnDevice', 'vpnPort', 'vpnPool', 'vpnUla'] as const

/** Flags of a VPN node beside a sandbox, or why none is started. */
export type SandboxVpn =
  | { readonly flags: readonly string[]; readonly says: string }
  | { readonly problem: string; readonly flags?: undefined }

/**
 * Whether this machine can run a VPN node for a sandbox. The port found is kept in the data folder: sold configurations
 * name it.
 */
export async function planSandboxVpn(
  config: Config,
  flags: Readonly<Record<string, string | undefined>>,
): Promise<SandboxVpn> {
  const [missing] = findMissing(lookAtMachine(findProgram))
  if (missing) return { problem: `This machine lacks ${missing.what}. ${missing.how}` }
  const left = await readRemains(nodeFolder(config, 'vpn'))
  if (left?.runs) return { problem: `One runs on this data folder already, as process ${left.pid}.` }
  const own = (left?.changes ?? []).flatMap((each) => (each.kind === 'setting' ? [] : [each.name]))
  const other = (await listTables()).find((table) => !own.includes(table))
  // Each node restores IP forwarding as it found it, so the first to stop would break the other.
  if (other !== undefined) {
    const remove = `nft delete table inet ${other}`
    return { problem: `Another VPN node is on this machine. If none runs, remove what it left: ${remove}` }
  }
  return await findSlot(config, flags, own)
}

/** What an earlier run left behind. The node of an `up` that was just killed needs a moment to notice, and ends. */
async function readRemains(folder: string): Promise<ReturnType<typeof readChanges>> {
  const giveUpAt = performance.now() + orphanMs
  for (;;) {
    const left = readChanges(folder)
    if (!left?.runs || performance.now() > giveUpAt) return left
    await Bun.sleep(lookEveryMs)
  }
}

async function findSlot(
  config: Config,
  flags: Readonly<Record<string, string | undefined>>,
  own: readonly string[],
): Promise<SandboxVpn> {
  const isChosen = slotSettings.some((name) => {
    const { flag, env } = settings[name]
    return flags[flag] !== undefined || process.env[env] !== undefined
  })
  const file = join(nodeFolder(config, 'vpn'), 'sandbox-place')
  const kept = isChosen ? undefined : readNumber(findFile(file))
  const numbers = kept === undefined ? Array.from({ length: maxSlots }, (_, at) => at) : [kept]
  const slots = isChosen ? [{ ...slotOf(0), device: config.vpnDevice, port: config.vpnPort }] : numbers.map(slotOf)
  let problem = ''
  for (const [at, slot] of slots.entries()) {
    const taken = await findTaken(slot, own, isChosen ? [] : readRoutes(own))
    if (taken === undefined) {
      if (!isChosen && kept === undefined) writeOwnFile(file, `${numbers[at]}\n`)
      return {
        flags: isChosen ? [] : slotSettings.map((name) => `--${settings[name].flag}=${valueOf(slot, name)}`),
        says: `A VPN node runs on this machine: network device ${slot.device}, UDP port ${slot.port}.`,
      }
    }
    problem = `${taken} is in use on this machine.`
  }
  return { problem }
}

const valueOf = (slot: VpnSlot, name: (typeof slotSettings)[number]): string =>
  ({ vpnDevice: slot.device, vpnPort: String(slot.port), vpnPool: slot.pool, vpnUla: slot.ula })[name]

/** The part of a place that another program uses; undefined if none. Leftovers of an earlier run do not count. */
async function findTaken(
  slot: VpnSlot,
  own: readonly string[],
  routes: readonly Prefix[],
): Promise<string | undefined> {
  if (own.includes(slot.device)) return undefined
  const { code } = await runProgram(['ip', 'link', 'show', 'dev', slot.device])
  if (code === 0) return `The network device ${slot.device}`
  if (!(await isFreePort(slot.port))) return `UDP port ${slot.port}`
  const pool = readPrefix(slot.pool)
  const overlaps = (route: Prefix): boolean =>
    pool !== undefined && (contains(route, pool.base) || contains(pool, route.base))
  return routes.some(overlaps) ? `The network ${slot.pool}` : undefined
}

async function isFreePort(port: number): Promise<boolean> {
  try {
    const socket = await Bun.udpSocket({ port, hostname: '0.0.0.0' })
    socket.close()
    return true
  } catch {
    return false
  }
}

/** IPv4 routes but the default ones: device, destination and mask are columns 1, 2 and 8, little-endian in hex. */
function readRoutes(own: readonly string[]): Prefix[] {
  const lines = readFileSync('/proc/net/route', 'utf8').trim().split('\n').slice(1)
  return lines.flatMap((line) => {
    const [device = '', destination = '', , , , , , mask = ''] = line.split('\t')
    const length = Number.parseInt(mask, 16).toString(2).replaceAll('0', '').length
    if (own.includes(device) || length === 0) return []
    const base = BigInt(Buffer.from(destination, 'hex').readUInt32LE())
    return [{ base: addressFromNumber(4, base), length }]
  })
}

/** Tables of VPN nodes, also of one that was killed. */
async function listTables(): Promise<string[]> {
  const { out } = await runProgram(['nft', 'list', 'tables'])
  return [...out.matchAll(/^table inet (turnpike_vpn_\S+)$/gm)].map(([, name = '']) => name)
}

const readNumber = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,2}\n?$/.test(text) && Number(text) < maxSlots ? Number(text) : undefined
