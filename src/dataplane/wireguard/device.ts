import { refuseHere } from '../../core/refusal.ts'
import type { VpnSetup } from '../../node-protocol/join.ts'
import type { Log } from '../agent/surroundings.ts'
import type { Changes } from './changes.ts'
import type { TunnelAddress } from './desired.ts'
import { createDumpReader, type DeviceState } from './dump.ts'
import { toDeviceCall } from './render.ts'
import { must, type Run } from './run.ts'
import { startUserspace } from './userspace.ts'

export type Device = {
  readonly kind: 'kernel' | 'wireguard-go'
  /** What it has now. Fails when it is gone. */
  look(): Promise<DeviceState>
  /** Takes it away, and all its peers. */
  close(): Promise<void>
}

export type DevicePlan = {
  readonly name: string
  readonly setup: VpnSetup
  readonly networks: readonly TunnelAddress[]
}

/**
 * Makes the device, addresses it and brings it up, without peers. The kernel's WireGuard if it has one, else
 * wireguard-go.
 */
export async function openDevice(plan: DevicePlan, changes: Changes, run: Run, log: Log): Promise<Device> {
  const { name } = plan
  if ((await run(['ip', 'link', 'show', 'dev', name])).code === 0) {
    throw refuseHere(`There is a network device ${name} already, and it is not ours.`, 'vpn_device_taken')
  }
  const note = { kind: 'link', name, use: 'the tunnel' } as const
  changes.note(note)
  const isKernels = (await run(['ip', 'link', 'add', 'dev', name, 'type', 'wireguard'])).code === 0
  const userspace = isKernels ? undefined : await startUserspace(name)
  const close = async () => {
    await userspace?.close()
    // Gone already when it was wireguard-go's.
    await run(['ip', 'link', 'delete', 'dev', name])
    changes.strike(note)
  }
  try {
    await settle(plan, run, log)
  } catch (error) {
    await close()
    throw error
  }
  const readDump = createDumpReader()
  return {
    kind: isKernels ? 'kernel' : 'wireguard-go',
    look: async () => readDump(await must(run, ['wg', 'show', name, 'dump'])),
    close,
  }
}

async function settle({ name, setup, networks }: DevicePlan, run: Run, log: Log): Promise<void> {
  await must(run, toDeviceCall(name, setup.listen_port), `${setup.private_key}\n`)
  await must(run, ['ip', 'link', 'set', 'dev', name, 'mtu', String(setup.mtu)])
  for (const { text, own } of networks) {
    // A tunnel has no neighbours, so nobody else can have the address.
    const words = ['ip', 'address', 'add', text, 'dev', name, ...(own.version === 6 ? ['nodad'] : [])]
    const { code, err } = await run(words)
    if (code === 0) continue
    if (own.version === 4) throw new Error(`${words.join(' ')} failed: ${err.trim()}`)
    log.warn('no IPv6 in the tunnel', { address: text, problem: err.trim() })
  }
  await must(run, ['ip', 'link', 'set', 'dev', name, 'up'])
}
