import { refuseHere } from '../../core/refusal.ts'
import type { VpnSetup } from '../../node-protocol/join.ts'
import type { NodeLog } from '../agent/runtime.ts'
import { type MachineChanges, socketPath } from './changes.ts'
import type { TunnelAddress } from './desired.ts'
import { type DeviceState, readDump, toDeviceCall } from './peers.ts'
import { findProgram, must, programPath, type RunProgram } from './run.ts'

/** Linux allows 15 characters; one is reserved for the queue device's suffix. */
export const deviceNamePattern = /^[a-z][a-z0-9_-]{0,13}$/

export const queueNameOf = (device: string): string => `${device}u`

const readyWithinMs = 5_000
const readyPollMs = 20
const endsWithinMs = 2_000
const maxComplaint = 2_000

/**
 * Whether a process accepts on the socket. `wg` must not be used while wireguard-go starts: it deletes a socket that
 * refuses connections, which ends wireguard-go.
 */
export const isListening = (path: string): Promise<boolean> =>
  Bun.connect({ unix: path, socket: { data: () => {} } }).then(
    (socket) => {
      socket.end()
      return true
    },
    () => false,
  )

/** Why wireguard-go did not start. It first prints a banner in a frame, which names no reason. */
export function toReason(complaint: string, ended: number | string | null): string {
  const lines = complaint.split('\n').filter((line) => line.trim() !== '' && !/[┌│└]/.test(line))
  if (lines.length > 0) return lines.join('\n')
  if (ended === null) return `it did not open its socket within ${readyWithinMs / 1000} s`
  return typeof ended === 'string' ? `it was ended by ${ended}` : `it exited with ${ended}`
}

/** Starts wireguard-go as a child that the kernel kills together with this process. */
async function startUserspace(name: string): Promise<{ close: () => Promise<void> }> {
  const program = findProgram('wireguard-go')
  if (program === undefined) throw new Error('this kernel has no WireGuard, and wireguard-go is not installed')
  const leash = findProgram('setpriv')
  const command = [...(leash === undefined ? [] : [leash, '--pdeathsig', 'KILL']), program, '-f', name]
  const child = Bun.spawn(command, {
    env: { PATH: programPath, LOG_LEVEL: 'error' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let complaint = ''
  const readComplaint = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const piece of stream) {
      complaint = (complaint + decoder.decode(piece, { stream: true })).slice(-maxComplaint)
    }
  }
  // It writes errors to stdout.
  const reading = Promise.all([child.stdout, child.stderr].map(readComplaint))
  const close = async () => {
    child.kill('SIGTERM')
    const killer = setTimeout(() => child.kill('SIGKILL'), endsWithinMs)
    await child.exited
    clearTimeout(killer)
    await reading
  }
  const giveUpAt = performance.now() + readyWithinMs
  while (!(await isListening(socketPath(name)))) {
    if (child.exitCode !== null || child.signalCode !== null || performance.now() > giveUpAt) {
      const ended = child.signalCode ?? child.exitCode
      await close()
      throw new Error(`wireguard-go did not start: ${toReason(complaint, ended)}`)
    }
    await Bun.sleep(readyPollMs)
  }
  return { close }
}

export type Device = {
  readonly kind: 'kernel' | 'wireguard-go'
  /** Fails if the device is gone. */
  look(): Promise<DeviceState>
  close(): Promise<void>
}

type DevicePlan = { readonly name: string; readonly setup: VpnSetup; readonly networks: readonly TunnelAddress[] }

/** Creates the device without peers, with the kernel's WireGuard or else wireguard-go. */
export async function openDevice(
  plan: DevicePlan,
  changes: MachineChanges,
  run: RunProgram,
  log: NodeLog,
): Promise<Device> {
  const { name } = plan
  if ((await run(['ip', 'link', 'show', 'dev', name])).code === 0) {
    throw refuseHere(
      `Another program made the network device ${name}. Remove it ("ip link del ${name}"), or set another name with ` +
        'TURNPIKE_VPN_DEVICE.',
      'vpn_device_taken',
    )
  }
  const note = { kind: 'link', name, use: 'the tunnel' } as const
  changes.note(note)
  const isKernels = (await run(['ip', 'link', 'add', 'dev', name, 'type', 'wireguard'])).code === 0
  const userspace = isKernels ? undefined : await startUserspace(name)
  const close = async () => {
    await userspace?.close()
    await run(['ip', 'link', 'delete', 'dev', name])
    changes.strike(note)
  }
  try {
    await settle(plan, run, log)
  } catch (error) {
    await close()
    throw error
  }
  const known = new Map<string, readonly string[]>()
  return {
    kind: isKernels ? 'kernel' : 'wireguard-go',
    look: async () => readDump(await must(run, ['wg', 'show', name, 'dump']), known),
    close,
  }
}

async function settle({ name, setup, networks }: DevicePlan, run: RunProgram, log: NodeLog): Promise<void> {
  await must(run, toDeviceCall(name, setup.listen_port), `${setup.private_key}\n`)
  await must(run, ['ip', 'link', 'set', 'dev', name, 'mtu', String(setup.mtu)])
  for (const { text, own } of networks) {
    // `nodad`: a tunnel has no neighbours.
    const command = ['ip', 'address', 'add', text, 'dev', name, ...(own.version === 6 ? ['nodad'] : [])]
    const { code, err } = await run(command)
    if (code === 0) continue
    if (own.version === 4) throw new Error(`${command.join(' ')} failed: ${err.trim()}`)
    log.warn('no IPv6 in the tunnel', { address: text, problem: err.trim() })
  }
  await must(run, ['ip', 'link', 'set', 'dev', name, 'up'])
}
