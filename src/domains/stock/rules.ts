import { type Address, addressFromNumber, addressToNumber, formatAddress, type Prefix } from '../../core/address.ts'
import type { CountryCode } from '../../core/country.ts'
import { type FieldProblem, fieldProblem } from '../../core/messages/problems.ts'

/** `3` is IPv4 shared by up to three customers, `4` dedicated IPv4, `6` dedicated IPv6. */
export const ipvs = [3, 4, 6] as const
export type Ipv = (typeof ipvs)[number]

export const slotStates = ['free', 'leased', 'resting', 'retired'] as const
export type SlotState = (typeof slotStates)[number]

export type Kind = { readonly country: CountryCode; readonly ipv: Ipv }

/** One sellable unit of an address. Its next lease begins at `freeFrom`, the end of the last one, or later. */
export type StockSlot = {
  readonly id: number
  readonly address: string
  readonly freeFrom: number
  /** The node that serves it. */
  readonly servingNode: string | null
}

/** A lease as `verify` walks it, with its slot's address and kind. */
export type WalkedLease = {
  readonly slot: number
  readonly proxy: number
  readonly startedAt: number
  readonly endedAt: number | null
  /** When the slot's lease before it ended. It begins no sooner, even if the clock was set back. */
  readonly freeFromAt: number
  readonly address: string
  readonly country: string
  readonly ipv: number
}

export const slotsOf = (ipv: Ipv): number => (ipv === 3 ? 3 : 1)

/** A block with more addresses than this is kept as one row. */
export const maxWrittenOut = 1n << 20n

/** Why a prefix cannot be added as a kind; undefined if it can. */
export function problemOfPrefix(prefix: Prefix, { ipv }: Kind, field: string): FieldProblem | undefined {
  const version = ipv === 6 ? 6 : 4
  if (prefix.base.version !== version) return fieldProblem(field, 'address_of_kind', { ipv, version })
  const length = version === 6 ? 32 : 12
  return prefix.length < length ? fieldProblem(field, 'prefix_too_wide', { length, version }) : undefined
}

export const sizeOf = (prefix: Prefix): bigint => 1n << BigInt(prefix.base.bytes.length * 8 - prefix.length)

/** The addresses of a block, each once, far apart: odd steps visit every address, as the size is a power of two. */
export function* scattered(prefix: Prefix): Generator<string> {
  const size = sizeOf(prefix)
  if (size > maxWrittenOut) throw new RangeError('the block is too large to be written out')
  const base = addressToNumber(prefix.base)
  const step = size <= 2n ? 1n : ((size * 618n) / 1000n) | 1n
  let offset = 0n
  for (let count = 0n; count < size; count += 1n) {
    yield formatAddress(addressFromNumber(prefix.base.version, base + offset))
    offset = (offset + step) % size
  }
}

/** A random address of a block, never the first, which is the routers' in IPv6 (RFC 4291, 2.6.1). */
export function randomAddress(prefix: Prefix, random: (count: number) => Uint8Array): Address {
  const bytes = random(16)
  let offset = 0n
  for (const byte of bytes) offset = (offset << 8n) | BigInt(byte)
  const size = sizeOf(prefix)
  return addressFromNumber(prefix.base.version, addressToNumber(prefix.base) + 1n + (offset % (size - 1n)))
}

/** Tunnels of an idle gateway, so that the first ones do not decide. */
const idleTunnels = 100

/** Weight of a gateway in the draw of a sale's gateway: free slots × bandwidth ÷ (open tunnels + 100). */
export const saleWeight = (
  { linkMegabits, health }: { linkMegabits: number; health: { readonly tunnels: number } | null },
  freeSlots: number,
): number => (freeSlots * linkMegabits) / ((health?.tunnels ?? 0) + idleTunnels)

/** Draws a gateway for each of `count` slots by weight. Returns how many each gets; all 0 if no weight is above 0. */
export function drawShares(
  weights: readonly number[],
  count: number,
  random: (count: number) => Uint8Array,
): readonly number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const shares = weights.map(() => 0)
  if (total <= 0) return shares
  const drawn = weights.length > 1 ? new DataView(random(4 * count).slice().buffer) : undefined
  for (let at = 0; at < count; at += 1) {
    let point = ((drawn?.getUint32(4 * at) ?? 0) / 2 ** 32) * total
    const index = weights.findIndex((weight) => (point -= weight) < 0)
    shares[index] = (shares[index] ?? 0) + 1
  }
  return shares
}
