import { type KeyKind, placeLastsMs, placeReportMs } from '../../core/device-places.ts'
import { maxPlaces, type PlacesBody } from '../../node-protocol/places.ts'
import { createLimitedLog, type NodeLog, type Timing } from './runtime.ts'
import type { ShopLink } from './shop-link.ts'

/** A machine that uses a VPN device: the network from which it connects, as `access/machines.ts` names it. */
export type DevicePlace = { readonly device: string; readonly place: string }
/** With the proof for the shop that it has presented a key of the device. */
export type ProvenPlace = DevicePlace & { readonly key: KeyKind; readonly exit?: string; readonly proof: string }

const keyOf = ({ device, place }: DevicePlace): string => `${device} ${place}`

/** A new machine tells the shop of the device's other machines here, so that it can see which is silent. */
const maxOthers = 20

/**
 * Asks the shop whether machines may use their VPN devices, and reports those that are active, so that the device limit
 * holds over all gateways. Without an answer a machine is admitted: a gateway serves while the shop is away.
 */
export class PlaceReports {
  /** When each machine was last active. */
  private readonly activeAt = new Map<string, { readonly of: ProvenPlace; at: number }>()
  private readonly touched = new Set<string>()
  private readonly asking = new Map<string, Promise<boolean>>()
  private readonly limitedLog
  private reportedAt

  constructor(
    private readonly deps: {
      readonly link: Pick<ShopLink, 'places'>
      /** The shop's clock. */
      readonly clock: () => number
      readonly timing: Timing
      readonly log: NodeLog
      /** These machines may not use their devices any more. */
      readonly onRefused: (places: readonly DevicePlace[]) => void
    },
  ) {
    this.limitedLog = createLimitedLog(deps.log, deps.timing.now)
    this.reportedAt = deps.timing.now()
  }

  /** Whether a machine may open its first tunnel. Equal questions share one request. */
  ask(of: ProvenPlace): Promise<boolean> {
    const key = keyOf(of)
    const known = this.activeAt.get(key)
    if (known && this.deps.clock() - known.at < placeReportMs) return Promise.resolve(true)
    const running = this.asking.get(key)
    if (running) return running
    const answer = this.askShop(of).finally(() => this.asking.delete(key))
    this.asking.set(key, answer)
    return answer
  }

  /** Machines have carried bytes: reactors say so every second, and the shop learns it every 8 s. */
  touch(active: readonly (ProvenPlace & { readonly at: number })[]): void {
    for (const { at, ...of } of active) {
      const key = keyOf(of)
      const known = this.activeAt.get(key)
      if (known) known.at = Math.max(known.at, at)
      else this.activeAt.set(key, { of, at })
      this.touched.add(key)
    }
    if (this.deps.timing.now() - this.reportedAt >= placeReportMs) void this.report()
  }

  private async askShop(of: ProvenPlace): Promise<boolean> {
    const nowMs = this.deps.clock()
    const others = [...this.activeAt.values()].filter((each) => each.of.device === of.device).slice(0, maxOthers)
    const refused = await this.send([...others.map((each) => toItem(each.of, each.at, false)), toItem(of, nowMs, true)])
    const isAdmitted = !refused.some((each) => keyOf(each) === keyOf(of))
    if (isAdmitted) this.activeAt.set(keyOf(of), { of, at: nowMs })
    const lost = refused.filter((each) => keyOf(each) !== keyOf(of))
    this.forget(lost)
    return isAdmitted
  }

  private async report(): Promise<void> {
    this.reportedAt = this.deps.timing.now()
    const nowMs = this.deps.clock()
    for (const [key, { at }] of this.activeAt) if (nowMs - at > placeLastsMs) this.activeAt.delete(key)
    const items = [...this.touched].flatMap((key) => this.activeAt.get(key) ?? [])
    this.touched.clear()
    for (let from = 0; from < items.length; from += maxPlaces) {
      const part = items.slice(from, from + maxPlaces)
      this.forget(await this.send(part.map(({ of, at }) => toItem(of, at, false))))
    }
  }

  private forget(refused: readonly DevicePlace[]): void {
    if (refused.length === 0) return
    for (const each of refused) this.activeAt.delete(keyOf(each))
    this.deps.onRefused(refused)
  }

  /** Those that the shop refuses; none without an answer. */
  private async send(places: PlacesBody['places']): Promise<readonly DevicePlace[]> {
    try {
      return (await this.deps.link.places({ places })).refused
    } catch (error) {
      this.limitedLog('warn', 'machines of VPN devices not reported', { fault: error })
      return []
    }
  }
}

const toItem = (of: ProvenPlace, at: number, isNew: boolean): PlacesBody['places'][number] => ({
  ...of,
  active_at: Math.max(0, Math.round(at)),
  is_new: isNew,
})
