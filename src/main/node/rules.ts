import { type Prefix, readAddress, readPrefix } from '../../kernel/address.ts'
import type { Snapshot } from '../../plane/agent/snapshot.ts'
import type { PagePlace } from '../../plane/agent/sync.ts'
import { noLimit, type Speeds } from '../../plane/gateway/count/speed-limit.ts'
import type { StatePage } from '../../wire/node/state.ts'
import { type GatewayConfig, policyOf } from '../settings/gateway.ts'

/** Bytes in a megabit. */
const megabit = 125_000
const speedOf = (megabits: number | null | undefined): number =>
  megabits === null || megabits === undefined ? Number.POSITIVE_INFINITY : megabits * megabit

export type Rules = ReturnType<typeof createRules>

/**
 * What customers may reach, as the shop's mode, its ranges and exits and the machine's own addresses have it, and how
 * fast.
 */
export function createRules(config: GatewayConfig) {
  let mode: StatePage['mode'] = 'production'
  const ranges = new Map<number, Prefix>()
  /** While the whole state is read anew: ranges that were not named yet. */
  let unnamed = new Set<number>()
  let exits: readonly Prefix[] = []
  /** Since the policy was last made. It is made anew with the last of several pages. */
  let isListChanged = false
  let policy = policyOf(config, mode)
  let speeds: Speeds = noLimit
  let heardAt = 0

  function lookAround(): void {
    policy = policyOf(config, mode, [...ranges.values(), ...exits])
  }

  function hearRanges(page: StatePage, place: PagePlace): void {
    if (place.isFirst) unnamed = new Set(ranges.keys())
    for (const { id, prefix: text, gone } of page.ranges) {
      unnamed.delete(id)
      const prefix = readPrefix(text)
      if (gone || !prefix) ranges.delete(id)
      else ranges.set(id, prefix)
    }
    if (!place.isWhole || !place.isLast) return
    for (const id of unnamed) ranges.delete(id)
    unnamed.clear()
  }

  return {
    /** Whether anything was ever heard, and when that was by the shop's clock, if it was in an earlier run. */
    isKnown: () => heardAt > 0,
    heardAt: () => heardAt,
    mode: () => mode,
    policy: () => policy,
    speeds: () => speeds,
    lookAround,

    /** Hears a page that the snapshot has taken in already. Exits that are named, not addresses, are not listed. */
    hear(page: StatePage, place: PagePlace, snapshot: Pick<Snapshot, 'exits'>): void {
      heardAt = page.now
      const proxy = speedOf(page.speed_mbit?.proxies)
      const subuser = speedOf(page.speed_mbit?.subusers)
      if (proxy !== speeds.proxy || subuser !== speeds.subuser) speeds = { proxy, subuser }
      hearRanges(page, place)
      isListChanged ||= place.isWhole || page.ranges.length > 0 || page.exits.length > 0
      if (page.mode === mode && !(isListChanged && place.isLast)) return
      mode = page.mode
      if (place.isLast) {
        exits = [...snapshot.exits()].flatMap(({ host }) => {
          const base = readAddress(host)
          return base ? [{ base, length: base.bytes.length * 8 }] : []
        })
        isListChanged = false
      }
      lookAround()
    },
  }
}
