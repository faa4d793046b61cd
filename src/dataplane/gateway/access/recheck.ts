import { type Place, Roster } from '../../../core/roster.ts'
import type { Found } from '../../../node-protocol/state.ts'
import type { Changed, Snapshot } from '../../agent/snapshot.ts'
import { type Access, type Moment, proxyKey, standing, subuserKey } from './admission.ts'
import { hopKey } from './hop.ts'

type OpenPassage = {
  readonly access: Access
  /** When a byte last passed. */
  readonly activeAt: number
  /** One side has finished. */
  readonly isHalfOpen: boolean
  /** Closes both sides at once. */
  cut(): void
  placeAmongOpen: Place
}

/** Idle limit of a half-open tunnel. */
const halfOpenMs = 60_000

/** Open tunnels. Rechecks their access and cuts those that may no longer pass. */
export function createRecheck<Passage extends OpenPassage>(deps: {
  snapshot: Snapshot
  moment: () => Moment
  idleMs: number
}) {
  const open = new Roster<'placeAmongOpen', Passage>('placeAmongOpen')
  const halfOpenIdleMs = Math.min(halfOpenMs, deps.idleMs)

  function recheck(keys: ReadonlySet<string>): void {
    const at = deps.moment()
    open.forEach((passage) => {
      if (keys.has(passage.access.key) && standing(passage.access, deps.snapshot, at)) passage.cut()
    })
  }

  return {
    add: (passage: Passage): void => open.add(passage),
    /** False if it was not open. */
    remove: (passage: Passage): boolean => open.delete(passage),
    cutAll: (): void => open.forEach((passage) => passage.cut()),

    afterChange: ({ proxies, subusers, gateways = [] }: Changed): void =>
      recheck(new Set([...proxies.map(proxyKey), ...subusers.map(subuserKey), ...gateways.map(hopKey)])),

    afterAnswer({ proxy, subuser }: Found): void {
      const keys = [...(proxy ? [proxyKey(proxy.username)] : []), ...(subuser ? [subuserKey(subuser.id)] : [])]
      if (keys.length > 0) recheck(new Set(keys))
    },

    /** Cuts expired and idle tunnels. */
    afterTime(nowMs: number): void {
      const at = deps.moment()
      open.forEach((passage) => {
        const isIdle = nowMs - passage.activeAt >= (passage.isHalfOpen ? halfOpenIdleMs : deps.idleMs)
        if (isIdle || (passage.access.kind === 'dedicated' && standing(passage.access, deps.snapshot, at)))
          passage.cut()
      })
    },

    get size(): number {
      return open.size
    },
  }
}
