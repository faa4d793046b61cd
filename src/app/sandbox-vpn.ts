import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Given } from '../cli/command.ts'
import { addressFromNumber, contains, type Prefix, readPrefix } from '../core/address.ts'
import { findFile, writeOwnFile } from '../dataplane/agent/own-file.ts'
import { readChanges } from '../dataplane/wireguard/changes.ts'
import { findMissing, lookAtMachine, runProgram } from '../dataplane/wireguard/run.ts'
import { type Config, nodeFolder, settings } from './settings/config.ts'

const maxSlots = 16
const orphanMs = 3000
const lookEveryMs = 25

/** Settings of what a VPN node takes of its machine: network device, UDP port, and the networks of its customers. */
const slotOf = (number: number) => ({
  vpnDevice: `tpvpn${number}`,
  vpnPort: 51_820 + number,
  vpnPool: `10.${66 + number}.0.0/16`,
  vpnUla: number === 0 ? 'fd74:7572:6e70::/64' : `fd74:7572:6e70:${number.toString(16)}::/64`,
})

type VpnSlot = ReturnType<typeof slotOf>

/** An operator who has set one of these has chosen a slot. */
const slotSettings = ['vpnDevice', 'vpnPort', 'vpnPool', 'vpnUla'] as const

/** Flags of a VPN node beside a sandbox, or why none is started. */
export type SandboxVpn =
  | { readonly flags: readonly string[]; readonly says: string }
  | { readonly problem: string; readonly flags?: undefined }

/** Whether this machine can run a VPN node for a sandbox. The data folder keeps the port that configurations name. */
export async function planSandboxVpn(config: Config, flags: Given['flags']): Promise<SandboxVpn> {
  const [missing] = findMissing(lookAtMachine())
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
  return findSlot(config, flags, own)
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

async function findSlot(config: Config, flags: Given['flags'], own: readonly string[]): Promise<SandboxVpn> {
  const isChosen = slotSettings.some((name) => {
    const { flag, env } = settings[name]
    return flags[flag] !== undefined || process.env[env] !== undefined
  })
  const file = join(nodeFolder(config, 'vpn'), 'sandbox-place')
  const kept = isChosen ? undefined : readNumber(findFile(file))
  const numbers = kept === undefined ? Array.from({ length: maxSlots }, (_, at) => at) : [kept]
  const slots = isChosen
    ? [{ ...slotOf(0), vpnDevice: config.vpnDevice, vpnPort: config.vpnPort }]
    : numbers.map(slotOf)
  let problem = ''
  for (const [at, slot] of slots.entries()) {
    const taken = await findTaken(slot, own, isChosen ? [] : readRoutes(own))
    if (taken === undefined) {
      if (!isChosen && kept === undefined) writeOwnFile(file, `${numbers[at]}\n`)
      return {
        flags: isChosen ? [] : slotSettings.map((name) => `--${settings[name].flag}=${slot[name]}`),
        says: `A VPN node runs on this machine: network device ${slot.vpnDevice}, UDP port ${slot.vpnPort}.`,
      }
    }
    problem = `${taken} is in use on this machine.`
  }
  return { problem }
}

/** The part of a slot that another program uses; undefined if none. Leftovers of an earlier run do not count. */
async function findTaken({ vpnDevice, vpnPort, vpnPool }: VpnSlot, own: readonly string[], routes: readonly Prefix[]) {
  if (own.includes(vpnDevice)) return undefined
  const { code } = await runProgram(['ip', 'link', 'show', 'dev', vpnDevice])
  if (code === 0) return `The network device ${vpnDevice}`
  if (!(await isFreePort(vpnPort))) return `UDP port ${vpnPort}`
  const pool = readPrefix(vpnPool)
  const overlaps = (route: Prefix): boolean =>
    pool !== undefined && (contains(route, pool.base) || contains(pool, route.base))
  return routes.some(overlaps) ? `The network ${vpnPool}` : undefined
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
