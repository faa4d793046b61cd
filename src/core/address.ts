/** An IP address as its 4 or 16 bytes, so that spelling does not matter. */
export type Address = { readonly version: 4 | 6; readonly bytes: Uint8Array }

/** A block of addresses. The bits past `length` are zero. */
export type Prefix = { readonly base: Address; readonly length: number }

/**
 * Reads an address strictly: dotted decimal without leading zeros, or RFC 4291 text. `127.1` and `0x7f.1` are refused.
 * A mapped address (`::ffff:1.2.3.4`) is its IPv4 address.
 */
export function readAddress(text: string): Address | undefined {
  if (text.length > 45) return undefined
  if (!text.includes(':')) {
    const quad = readQuad(text)
    return quad && { version: 4, bytes: quad }
  }
  const bytes = readGroups(text)
  return bytes && unmap({ version: 6, bytes })
}

/** The IPv4 address of a mapped IPv6 address (RFC 4291, 2.5.5.2); any other address as it is. */
export const unmap = (address: Address): Address =>
  address.version === 6 && isMapped(address.bytes) ? { version: 4, bytes: address.bytes.slice(12) } : address

/** Reads `address/length`; a bare address is a block of one. Undefined when bits past the length are set. */
export function readPrefix(text: string): Prefix | undefined {
  const [addressText = '', lengthText, ...rest] = text.split('/')
  const base = readAddress(addressText)
  if (!base || rest.length > 0) return undefined
  const maxLength = base.bytes.length * 8
  if (lengthText === undefined) return { base, length: maxLength }
  if (!/^(0|[1-9]\d{0,2})$/.test(lengthText)) return undefined
  // The length of a mapped block counts the 96 bits before the IPv4 part.
  const length = Number(lengthText) - (base.version === 4 && addressText.includes(':') ? 96 : 0)
  if (length < 0 || length > maxLength) return undefined
  return compareBytes(masked(base.bytes, length), base.bytes) === 0 ? { base, length } : undefined
}

/** The prefix that an address with a length is in, bits past the length or not: 10.0.0.5/24 is in 10.0.0.0/24. */
export function prefixAround(text: string): Prefix | undefined {
  const [addressText = '', lengthText = ''] = text.split('/')
  const base = readAddress(addressText)
  if (!base || !/^\d{1,3}$/.test(lengthText)) return undefined
  return readPrefix(`${formatAddress({ ...base, bytes: masked(base.bytes, Number(lengthText)) })}/${lengthText}`)
}

/** Canonical text: RFC 5952 for IPv6 (lower case, the longest run of zeros shortened), dotted decimal for IPv4. */
export function formatAddress(address: Address): string {
  const { bytes } = address
  if (address.version === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`
  const groups = groupsOf(bytes)
  const run = longestZeroRun(groups)
  const text = (part: number[]) => part.map((group) => group.toString(16)).join(':')
  if (run.length < 2) return text(groups)
  return `${text(groups.slice(0, run.start))}::${text(groups.slice(run.start + run.length))}`
}

/** A host before a port: an IPv6 address in brackets (RFC 3986, 3.2.2), anything else as it is. */
export const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host)

export const hostAndPort = (host: string, port: number): string => `${bracketed(host)}:${port}`

export const formatPrefix = (prefix: Prefix): string =>
  prefix.length === prefix.base.bytes.length * 8
    ? formatAddress(prefix.base)
    : `${formatAddress(prefix.base)}/${prefix.length}`

/** Allocation-free: a gateway calls this dozens of times per connection. */
export function contains(prefix: Prefix, address: Address): boolean {
  if (prefix.base.version !== address.version) return false
  const whole = prefix.length >> 3
  for (let index = 0; index < whole; index += 1) {
    if (prefix.base.bytes[index] !== address.bytes[index]) return false
  }
  const bits = prefix.length & 7
  return bits === 0 || ((prefix.base.bytes[whole] ?? 0) ^ (address.bytes[whole] ?? 0)) >> (8 - bits) === 0
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  if (a.length !== b.length) return a.length - b.length
  for (let index = 0; index < a.length; index += 1) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** The same addresses in sorted blocks, none within another. */
export function withoutNested(prefixes: readonly Prefix[]): Prefix[] {
  const kept: Prefix[] = []
  for (const each of prefixes.toSorted((a, b) => compareBytes(a.base.bytes, b.base.bytes) || a.length - b.length)) {
    const last = kept.at(-1)
    if (!last || !contains(last, each.base)) kept.push(each)
  }
  return kept
}

/** Binary search in blocks that withoutNested() has sorted. */
export function isWithinSorted(prefixes: readonly Prefix[], address: Address): boolean {
  let [low, high] = [0, prefixes.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const base = prefixes[middle]?.base.bytes
    if (base && compareBytes(base, address.bytes) <= 0) low = middle + 1
    else high = middle
  }
  const candidate = prefixes[low - 1]
  return candidate !== undefined && contains(candidate, address)
}

export function addressToNumber(address: Address): bigint {
  let value = 0n
  for (const byte of address.bytes) value = (value << 8n) | BigInt(byte)
  return value
}

export function addressFromNumber(version: 4 | 6, value: bigint): Address {
  const bytes = new Uint8Array(version === 4 ? 4 : 16)
  let rest = value
  for (let index = bytes.length - 1; index >= 0; index -= 1) {
    bytes[index] = Number(rest & 255n)
    rest >>= 8n
  }
  if (value < 0n || rest !== 0n) throw new RangeError('the number is not an address of that version')
  return { version, bytes }
}

/** Without a regular expression: a gateway reads several addresses per connection. */
function readQuad(text: string): Uint8Array | undefined {
  if (text.length < 7 || text.length > 15) return undefined
  const quad = new Uint8Array(4)
  let part = 0
  let value = 0
  let digits = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === 46) {
      if (digits === 0 || part === 3) return undefined
      quad[part] = value
      part += 1
      value = 0
      digits = 0
    } else if (code >= 48 && code <= 57) {
      if (digits > 0 && value === 0) return undefined
      value = value * 10 + code - 48
      digits += 1
      if (value > 255) return undefined
    } else return undefined
  }
  if (part !== 3 || digits === 0) return undefined
  quad[3] = value
  return quad
}

function readGroups(text: string): Uint8Array | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const head = readHalf(halves[0] ?? '', halves.length === 1)
  const tail = halves.length === 2 ? readHalf(halves[1] ?? '', true) : []
  if (!head || !tail) return undefined
  const missing = 16 - head.length - tail.length
  // `::` replaces at least one group; without it there must be eight groups.
  if (halves.length === 2 ? missing < 2 : missing !== 0) return undefined
  return Uint8Array.from([...head, ...Array.from({ length: missing }, () => 0), ...tail])
}

/** One side of the `::`. Only the last group of the whole address may be written as a dotted quad. */
function readHalf(text: string, mayEndInQuad: boolean): number[] | undefined {
  if (text === '') return []
  const bytes: number[] = []
  const groups = text.split(':')
  for (const [index, group] of groups.entries()) {
    if (group.includes('.')) {
      const quad = mayEndInQuad && index === groups.length - 1 ? readQuad(group) : undefined
      if (!quad) return undefined
      bytes.push(...quad)
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(group)) return undefined
      const value = Number.parseInt(group, 16)
      bytes.push(value >> 8, value & 255)
    }
  }
  return bytes.length <= 16 ? bytes : undefined
}

function isMapped(bytes: Uint8Array): boolean {
  for (let index = 0; index < 10; index += 1) if (bytes[index] !== 0) return false
  return bytes[10] === 255 && bytes[11] === 255
}

function masked(bytes: Uint8Array, length: number): Uint8Array {
  return bytes.map((byte, index) => byte & ((0xff00 >> Math.min(8, Math.max(0, length - index * 8))) & 255))
}

function groupsOf(bytes: Uint8Array): number[] {
  return Array.from({ length: 8 }, (_, index) => ((bytes[index * 2] ?? 0) << 8) | (bytes[index * 2 + 1] ?? 0))
}

function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 }
  let start = 0
  for (let index = 0; index <= groups.length; index += 1) {
    if (groups[index] === 0) continue
    if (index - start > best.length) best = { start, length: index - start }
    start = index + 1
  }
  return best
}

const maxCached = 2000
const cached = new Map<string, Address>()

/** readAddress() with a cache of 2000 texts: a gateway reads the same few several times per connection. */
export function readAddressCached(text: string): Address | undefined {
  const known = cached.get(text)
  if (known) return known
  const address = readAddress(text)
  if (!address) return undefined
  if (cached.size >= maxCached) cached.clear()
  cached.set(text, address)
  return address
}

/** Rate-limit key of a client: the IPv4 address, or the IPv6 /64. The holder of one IPv6 address has all 2^64 of it. */
export const clientPrefixOf = (from: Address): string => from.bytes.slice(0, 8).toHex()

/** The client prefix of an address in text form; undefined for null or an invalid address. */
export function readClientPrefix(text: string | null): string | undefined {
  const address = text === null ? undefined : readAddress(text)
  return address && clientPrefixOf(address)
}

/** The network of a client prefix: 256 IPv4 addresses, or the IPv6 /48 that a provider gives to one customer. */
export const networkOf = (prefix: string): string => prefix.slice(0, prefix.length === 8 ? 6 : 12)
