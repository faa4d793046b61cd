import { type SetIndex, SwapRemoveSet } from '../../../core/swap-remove-set.ts'
import type { Found } from '../../../node-protocol/state.ts'
import type { Changed, Snapshot } from '../../agent/snapshot.ts'
import { type Access, accessRefusal, deviceKey, type Moment, proxyKey, subuserKey } from './admission.ts'
import { hopKey } from './hop.ts'
import type { Machines } from './machines.ts'

export type OpenTunnel = {
  readonly access: Access
  /** When a byte last passed. */
  readonly activeAt: number
  readonly isHalfOpen: boolean
  /** A shorter time limit than that of tunnels. */
  readonly maxIdleMs?: number
  cut(): void
  openIndex: SetIndex
}

const maxHalfOpenIdleMs = 60_000

export type OpenTunnels = ReturnType<typeof createRecheck>

/** Open tunnels. Rechecks their access and cuts those that may no longer pass. */
export function createRecheck(deps: {
  snapshot: Snapshot
  moment: () => Moment
  idleMs: number
  /** False if the machine of a VPN device may not use it any more. */
  noteMachine?: Machines['note']
}) {
  const open = new SwapRemoveSet<'openIndex', OpenTunnel>('openIndex')
  const halfOpenIdleMs = Math.min(maxHalfOpenIdleMs, deps.idleMs)

  function recheck(keys: ReadonlySet<string>): void {
    const at = deps.moment()
    open.forEach((tunnel) => {
      if (keys.has(tunnel.access.key) && accessRefusal(tunnel.access, deps.snapshot, at)) tunnel.cut()
    })
  }

  return {
    add: (tunnel: OpenTunnel): void => open.add(tunnel),
    /** False if it was not open. */
    remove: (tunnel: OpenTunnel): boolean => open.delete(tunnel),
    cutAll: (): void => open.forEach((tunnel) => tunnel.cut()),

    afterChange: ({ proxies, subusers, gateways = [], devices = [] }: Changed): void =>
      recheck(
        new Set([
          ...proxies.map(proxyKey),
          ...subusers.map(subuserKey),
          ...gateways.map(hopKey),
          ...devices.map(deviceKey),
        ]),
      ),

    afterAnswer({ proxy, subuser }: Found): void {
      const keys = [...(proxy ? [proxyKey(proxy.username)] : []), ...(subuser ? [subuserKey(subuser.id)] : [])]
      if (keys.length > 0) recheck(new Set(keys))
    },

    /** Cuts expired and idle tunnels. */
    afterTime(nowMs: number): void {
      const at = deps.moment()
      open.forEach((tunnel) => {
        const maxIdleMs = tunnel.isHalfOpen ? halfOpenIdleMs : Math.min(deps.idleMs, tunnel.maxIdleMs ?? deps.idleMs)
        const isIdle = nowMs - tunnel.activeAt >= maxIdleMs
        const { access } = tunnel
        const mayExpire = access.kind === 'dedicated' || access.kind === 'device'
        if (isIdle || (mayExpire && accessRefusal(access, deps.snapshot, at))) tunnel.cut()
        else if (access.kind === 'device' && deps.noteMachine?.(access, tunnel.activeAt, nowMs) === false) tunnel.cut()
      })
    },

    get size(): number {
      return open.size
    },
  }
}
