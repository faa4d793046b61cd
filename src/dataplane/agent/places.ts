import { type KeyKind, placeLastsMs, placeReportMs } from '../../core/device-places.ts'
import { createTokenBuckets } from '../../core/token-buckets.ts'
import { maxPlaces, type PlacesBody } from '../../node-protocol/places.ts'
import { createLimitedLog, type NodeLog, type Timing } from './runtime.ts'
import { LinkError, type ShopLink } from './shop-link.ts'

/** A machine that uses a VPN device: the network from which it connects, as `access/machines.ts` names it. */
export type DevicePlace = { readonly device: string; readonly place: string }
/** With the proof for the shop that it has presented a key of the device. */
export type ProvenPlace = DevicePlace & { readonly key: KeyKind; readonly exit?: string; readonly proof: string }

const keyOf = ({ device, place }: DevicePlace): string => `${device} ${place}`

/** A new machine tells the shop of the device's other machines here, so that it can see which is silent. */
const maxOthers = 20

/** A refused machine is not asked for again within this time. */
const refusedForMs = 5000
const maxRefused = 20_000
/** New machines of one device: a copied key must not use up what this gateway may ask. */
const askRate = { perSecond: 4, burst: 8 }

/**
 * Asks the shop whether machines may use their VPN devices, and reports those that are active, so that the device limit
 * holds over all gateways. Without an answer a machine is admitted: a gateway serves while the shop is away. That the
 * gateway asks too often (429) is an answer.
 */
export class PlaceReports {
  /** When each machine was last active. */
  private readonly activeAt = new Map<string, { readonly of: ProvenPlace; at: number }>()
  private readonly touched = new Set<string>()
  private readonly asking = new Map<string, Promise<boolean>>()
  /** When the shop has refused each machine, oldest first. */
  private readonly refusedAt = new Map<string, number>()
  private readonly askBuckets
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
    this.askBuckets = createTokenBuckets(askRate, deps.timing.now)
    this.reportedAt = deps.timing.now()
  }

  /** Whether a machine may open its first tunnel. Equal questions share one request. */
  ask(of: ProvenPlace): Promise<boolean> {
    const key = keyOf(of)
    const known = this.activeAt.get(key)
    const silentMs = known ? this.deps.clock() - known.at : Number.POSITIVE_INFINITY
    if (silentMs < placeReportMs) return Promise.resolve(true)
    const running = this.asking.get(key)
    if (running) return running
    // Machines that the shop has admitted do not wait for those with a copy of their key.
    const isNew = silentMs >= placeLastsMs
    if (this.wasRefused(key) || (isNew && !this.askBuckets.take(of.device))) return Promise.resolve(false)
    const answer = this.askShop(of, isNew).finally(() => this.asking.delete(key))
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

  private wasRefused(key: string): boolean {
    const at = this.refusedAt.get(key)
    return at !== undefined && this.deps.timing.now() - at < refusedForMs
  }

  private noteRefused(places: readonly DevicePlace[]): void {
    for (const key of places.map(keyOf)) {
      this.refusedAt.delete(key)
      this.refusedAt.set(key, this.deps.timing.now())
      for (const oldest of this.refusedAt.keys().take(this.refusedAt.size > maxRefused ? 1 : 0))
        this.refusedAt.delete(oldest)
    }
  }

  private async askShop(of: ProvenPlace, isNew: boolean): Promise<boolean> {
    const nowMs = this.deps.clock()
    const others = [...this.activeAt.values()].filter((each) => each.of.device === of.device).slice(0, maxOthers)
    const items = [...others.map((each) => toItem(each.of, each.at, false)), toItem(of, nowMs, true)]
    const refused = await this.send(items, isNew ? [of] : [])
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
      this.forget(
        await this.send(
          part.map(({ of, at }) => toItem(of, at, false)),
          [],
        ),
      )
    }
  }

  private forget(refused: readonly DevicePlace[]): void {
    if (refused.length === 0) return
    for (const each of refused) this.activeAt.delete(keyOf(each))
    this.deps.onRefused(refused)
  }

  /** Those that the shop refuses; `ifLimited` if it was asked too often, and none without an answer. */
  private async send(places: PlacesBody['places'], ifLimited: readonly DevicePlace[]): Promise<readonly DevicePlace[]> {
    try {
      const { refused } = await this.deps.link.places({ places })
      this.noteRefused(refused)
      return refused
    } catch (error) {
      this.limitedLog('warn', 'machines of VPN devices not reported', { fault: error })
      return error instanceof LinkError && error.status === 429 ? ifLimited : []
    }
  }
}

const toItem = (of: ProvenPlace, at: number, isNew: boolean): PlacesBody['places'][number] => ({
  ...of,
  active_at: Math.max(0, Math.round(at)),
  is_new: isNew,
})
