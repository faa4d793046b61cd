import { recallAddress } from '../../../core/known-addresses.ts'
import { type InLine, Line } from '../../../core/line.ts'
import { classify } from '../../../core/reserved.ts'
import type { Clock } from '../../../core/time.ts'
import type { Policy } from './policy.ts'

/** More than are carried are let in, to be told that the gateway is full; beyond that they are only closed. */
const mostToBeTold = 500
/** How many connections from one network may be at their handshake, or rest between requests, at once. */
const mostFromOneNetwork = 2000
/** And how few that may be, however little there is. */
const leastShare = 8
/** A newcomer from a network that has few of them is left alone for so long. */
const graceMs = 1000
/** How many networks, and connections of each, are looked at to find somebody who can be spared. */
const mostNetworks = 256
const mostOfNetwork = 16

/** Somebody's connection as long as it is not a tunnel. */
export type Talker = {
  readonly source: string
  readonly cameAt: number
  /** Nothing is being done for it: it is awaited, or rests between requests. */
  readonly isWaiting: boolean
  /** It has never shown a name and password that are right. */
  readonly isStranger: boolean
  /** Closes it at once. */
  spare(): void
}

/**
 * Who may begin to talk at all, before anybody knows who it is. When there is no room, whoever waits makes room for
 * customers, strangers first, of the network that has most of them: those who are carried never do.
 */
export function createArrivals<T extends Talker & InLine<T>>(deps: {
  policy: () => Policy
  clock: Clock
  connections: number
  /** Descriptors of connections that are closed and not let go of yet. */
  lingering: () => number
}) {
  const talking = new Map<string, Line<T>>()
  const share = (part: number, most: number): number => Math.min(most, Math.max(leastShare, Math.ceil(part)))
  const toBeTold = share(deps.connections / 20, mostToBeTold)
  const fromOneNetwork = share(deps.connections / 2, mostFromOneNetwork)
  let open = 0
  let spared = 0
  let turnedAway = 0

  const inUse = (): number => open + deps.lingering()

  /** Of one network: strangers first, the oldest first. */
  function findSpare(talkers: Line<T>, isCrowd: boolean): T | undefined {
    let resting: T | undefined
    let looked = 0
    for (let talker = talkers.first; talker; talker = talker.behind) {
      if (talker.isWaiting && !talker.isStranger) resting ??= talker
      else if (talker.isWaiting && (isCrowd || deps.clock() - talker.cameAt >= graceMs)) return talker
      looked += 1
      if (looked === mostOfNetwork) break
    }
    return resting
  }

  /** Of all: strangers first, of the network that has most. */
  function findSpareOfAll(): T | undefined {
    let found: { readonly spare: T; readonly size: number } | undefined
    let looked = 0
    for (const talkers of talking.values()) {
      const spare = findSpare(talkers, talkers.size > leastShare)
      const isBetter = !found || (found.spare.isStranger ? talkers.size > found.size : spare?.isStranger)
      if (spare && isBetter && !(found?.spare.isStranger && !spare.isStranger)) found = { spare, size: talkers.size }
      looked += 1
      if (looked === mostNetworks) break
    }
    return found?.spare
  }

  function close(spare: T | undefined): boolean {
    if (!spare) return false
    spared += 1
    spare.spare()
    return true
  }

  function mayEnter(talker: T): boolean {
    if (!mayCome(talker.source, deps.policy())) return false
    const network = talking.get(networkOf(talker.source))
    if (network && network.size >= fromOneNetwork && !close(findSpare(network, true))) return false
    return inUse() <= deps.connections + toBeTold || close(findSpareOfAll())
  }

  return {
    /** A connection was accepted, or closed, whatever became of it. */
    opened: (): void => void (open += 1),
    closed: (): void => void (open -= 1),
    get open(): number {
      return open
    },
    get isFull(): boolean {
      return inUse() > deps.connections
    },
    /** Closes somebody who waits, so that a customer can be carried. False when there is nobody. */
    makeRoom: (): boolean => close(findSpareOfAll()),
    /** Since the beginning: those who made room for others, and those for whom there was none. */
    get pressure(): { readonly spared: number; readonly turnedAway: number } {
      return { spared, turnedAway }
    },

    /** Takes a place for somebody; false when there is none. */
    enter(talker: T): boolean {
      if (!mayEnter(talker)) {
        turnedAway += 1
        return false
      }
      const network = networkOf(talker.source)
      const talkers = talking.get(network) ?? new Line<T>()
      talkers.join(talker)
      talking.set(network, talkers)
      return true
    },

    /** It has gone, or its bytes are carried: either way it talks to us no more. */
    leave(talker: T): void {
      const network = networkOf(talker.source)
      const talkers = talking.get(network)
      talkers?.leave(talker)
      if (talkers?.size === 0) talking.delete(network)
    },
  }
}

/** Whoever has one IPv6 address has all of its /64 (RFC 4291, 2.5.4). */
function networkOf(source: string): string {
  if (!source.includes(':')) return source
  const address = recallAddress(source)
  return address ? Buffer.from(address.bytes.subarray(0, 8)).toString('hex') : source
}

/** A sandbox reaches loopback addresses, and so serves nobody but this machine. */
function mayCome(source: string, policy: Policy): boolean {
  if (!policy.allowLoopback) return true
  const address = recallAddress(source)
  return address !== undefined && classify(address) === 'loopback'
}
