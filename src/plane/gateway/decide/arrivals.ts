import { readAddress } from '../../../kernel/address.ts'
import { classify } from '../../../kernel/reserved.ts'
import type { Policy } from './policy.ts'

/** More than are carried are let in, to be told that the gateway is full; beyond that they are only closed. */
const mostToBeTold = 500
/** How many connections from one address may be at their handshake, or rest between requests, at once. */
const mostFromOneSource = 2000

/** Who may begin to talk at all, before anybody knows who it is. */
export function createArrivals(deps: { policy: () => Policy; connections: number }) {
  const talking = new Map<string, number>()
  let open = 0

  return {
    /** A connection was accepted, or closed, whatever became of it. */
    opened: (): void => void (open += 1),
    closed: (): void => void (open -= 1),
    get open(): number {
      return open
    },
    get isFull(): boolean {
      return open > deps.connections
    },

    /** Takes a place for somebody from that address; false when there is none. */
    enter(source: string): boolean {
      const already = talking.get(source) ?? 0
      const isCrowded = already >= mostFromOneSource || open > deps.connections + mostToBeTold
      if (isCrowded || !mayCome(source, deps.policy())) return false
      talking.set(source, already + 1)
      return true
    },

    /** It has gone, or its bytes are carried: either way it talks to us no more. */
    leave(source: string): void {
      const left = (talking.get(source) ?? 1) - 1
      if (left === 0) talking.delete(source)
      else talking.set(source, left)
    },
  }
}

/** A sandbox reaches loopback addresses, and so serves nobody but this machine. */
function mayCome(source: string, policy: Policy): boolean {
  if (!policy.allowLoopback) return true
  const address = readAddress(source)
  return address !== undefined && classify(address) === 'loopback'
}
