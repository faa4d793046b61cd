/** A number in [0, sides), for a thing that is left to chance and for its nth time. */
export type Chances = {
  (what: string, sides: number): number
  /** Bytes of a generator of its own, for ids and passwords. */
  bytes(count: number): Uint8Array
}

/**
 * Chance that depends on the name of what it decides and not on what was decided before, so that a plan without one of
 * its actions lets the others happen as they did.
 */
export function createChances(entropy: number): Chances {
  const counts = new Map<string, number>()
  const next = (what: string): number => {
    const count = counts.get(what) ?? 0
    counts.set(what, count + 1)
    return mix(hash(what, entropy) + Math.imul(count, 0x9e3779b1))
  }
  return Object.assign((what: string, sides: number) => (sides <= 1 ? 0 : next(what) % sides), {
    bytes: (count: number) => Uint8Array.from({ length: count }, () => next('bytes') & 255),
  })
}

/** FNV-1a. */
function hash(text: string, seed: number): number {
  let state = 0x811c9dc5 ^ seed
  for (let at = 0; at < text.length; at += 1) state = Math.imul(state ^ text.charCodeAt(at), 0x01000193)
  return state
}

/** The finalizer of MurmurHash3. */
function mix(value: number): number {
  let state = value
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35)
  return (state ^ (state >>> 16)) >>> 0
}
