import { placeLastsMs, placeMovesAfterMs } from '../../../core/device-places.ts'

/** A machine: a device, and the network from which it connects (`4…` or `6…`, or `wireguard`). */
export type Place = {
  readonly device: string
  readonly place: string
  readonly beganAt: number
  readonly activeAt: number
}

/** A machine that a node has reported. A forced one connects by WireGuard, whose kernel asks no shop. */
export type SeenPlace = Pick<Place, 'device' | 'place' | 'activeAt'> & {
  readonly isNew: boolean
  readonly isForced?: boolean
}

export type PlaceVerdict = { readonly isAdmitted: boolean; readonly evicted?: Place }

const familyOf = ({ place }: Pick<Place, 'place'>): string => place.slice(0, 1)

/** A machine may use IPv4 and IPv6 at a time, so the families of a device are not added up. */
function countMachines(places: readonly Pick<Place, 'device' | 'place'>[]): number {
  let all = 0
  for (const own of Map.groupBy(places, (each) => each.device).values()) {
    const families = [...Map.groupBy(own, familyOf).values()]
    all += Math.max(...families.map((family) => family.length))
  }
  return all
}

const isActive = ({ activeAt }: Pick<Place, 'activeAt'>, nowMs: number): boolean => nowMs - activeAt < placeLastsMs

/**
 * Whether a machine may use its device. Over the limit, a device's first machine takes the slot of the newest one with
 * a copied key; and a device that connects from another network takes the slot of its own machine if that is silent.
 */
export function judgePlace(limit: number, known: readonly Place[], seen: SeenPlace, nowMs: number): PlaceVerdict {
  const places = known.filter((each) => isActive(each, nowMs))
  if (places.some((each) => each.device === seen.device && each.place === seen.place)) return { isAdmitted: true }
  const after = countMachines([...places, seen])
  if (after <= limit || after === countMachines(places)) return { isAdmitted: true }
  const evicted = findEvicted(places, seen, nowMs)
  if (evicted) return { isAdmitted: true, evicted }
  return { isAdmitted: seen.isForced === true }
}

function findEvicted(places: readonly Place[], seen: SeenPlace, nowMs: number): Place | undefined {
  const own = places.filter((each) => each.device === seen.device)
  if (own.length > 0) {
    const silent = own.filter((each) => familyOf(each) === familyOf(seen) && nowMs - each.activeAt >= placeMovesAfterMs)
    return seen.isNew ? silent.toSorted((a, b) => a.activeAt - b.activeAt)[0] : undefined
  }
  const copies = [...Map.groupBy(places, (each) => `${each.device} ${familyOf(each)}`).values()]
    .filter((family) => family.length > 1)
    .flat()
  return copies.toSorted((a, b) => b.beganAt - a.beganAt)[0]
}
