import { type Address, contains, type Prefix, readPrefix, unmap } from './address.ts'

/** What an address is for. Customers can reach only `public` ones. */
export type AddressClass =
  | 'public'
  | 'loopback'
  | 'private'
  | 'link-local'
  | 'metadata'
  | 'multicast'
  | 'documentation'
  | 'translated'
  | 'reserved'

type Range = { readonly prefix: Prefix; readonly addressClass: AddressClass }

const ranges = (addressClass: AddressClass, ...texts: string[]): Range[] =>
  texts.map((text) => {
    const prefix = readPrefix(text)
    if (!prefix) throw new Error(`${text} is not a prefix`)
    return { prefix, addressClass }
  })

/** Cloud metadata services. The first match decides, so these come before the ranges they lie in. */
const metadata = ranges(
  'metadata',
  '169.254.169.254', // AWS, Google, Azure, Oracle, DigitalOcean, Hetzner
  '169.254.170.2', // AWS ECS tasks
  '169.254.170.23', // AWS EKS pods
  '100.100.100.200', // Alibaba
  '168.63.129.16', // Azure's wire server, in a public range
  '192.0.0.192', // Oracle, classic
  'fd00:ec2::254', // AWS
  'fd00:ec2::23', // AWS EKS pods
  'fd20:ce::254', // Google
  'fd00:42::42', // Scaleway
)

/** IANA IPv4 special-purpose registry (RFC 6890 and updates), including the anycast services it calls reachable. */
const special4: readonly Range[] = [
  ...metadata,
  ...ranges('reserved', '0.0.0.0/8'), // this network: RFC 791, 3.2
  ...ranges('private', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'), // RFC 1918
  ...ranges('private', '100.64.0.0/10'), // shared by carriers: RFC 6598
  ...ranges('loopback', '127.0.0.0/8'), // RFC 1122, 3.2.1.3
  ...ranges('link-local', '169.254.0.0/16'), // RFC 3927
  ...ranges('reserved', '192.0.0.0/24'), // IETF protocols: RFC 6890, with RFC 7335, 7600, 7723, 8155, 7050
  ...ranges('documentation', '192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'), // RFC 5737
  ...ranges('reserved', '192.31.196.0/24'), // AS112: RFC 7535
  ...ranges('reserved', '192.52.193.0/24'), // AMT: RFC 7450
  ...ranges('translated', '192.88.99.0/24'), // 6to4 relays: RFC 7526
  ...ranges('reserved', '192.175.48.0/24'), // AS112: RFC 7534
  ...ranges('reserved', '198.18.0.0/15'), // benchmarks: RFC 2544
  ...ranges('multicast', '224.0.0.0/4'), // RFC 5771
  ...ranges('reserved', '240.0.0.0/4'), // RFC 1112, 4, with the broadcast of RFC 919, 7
]

/** IPv6: exceptions within 2000::/3, and names for some of what lies outside. */
const special6: readonly Range[] = [
  ...metadata,
  ...ranges('loopback', '::1'), // RFC 4291, 2.5.3
  ...ranges('translated', '::/96'), // IPv4-compatible: RFC 4291, 2.5.5.1; the unspecified address is among them
  ...ranges('translated', '::ffff:0:0:0/96'), // IPv4-translated: RFC 2765
  ...ranges('translated', '64:ff9b::/96'), // NAT64: RFC 6052
  ...ranges('translated', '64:ff9b:1::/48'), // NAT64, local: RFC 8215
  ...ranges('reserved', '100::/64'), // discarded: RFC 6666
  ...ranges('reserved', '100:0:0:1::/64'), // dummy prefix: RFC 9780
  ...ranges('translated', '2001::/32'), // Teredo: RFC 4380
  ...ranges('reserved', '2001::/23'), // IETF protocols: RFC 2928, with ORCHID, benchmarks, AMT, AS112, DRIP
  ...ranges('documentation', '2001:db8::/32', '3fff::/20'), // RFC 3849, RFC 9637
  ...ranges('translated', '2002::/16'), // 6to4, retired by RFC 7526, whatever IPv4 address it carries: RFC 3056
  ...ranges('reserved', '2620:4f:8000::/48'), // AS112: RFC 7534
  ...ranges('reserved', '5f00::/16'), // segment routing: RFC 9602
  ...ranges('private', 'fc00::/7'), // unique local: RFC 4193
  ...ranges('link-local', 'fe80::/10'), // RFC 4291, 2.5.6
  ...ranges('private', 'fec0::/10'), // site-local, retired by RFC 3879
  ...ranges('multicast', 'ff00::/8'), // RFC 4291, 2.7
]
const [globalUnicast] = ranges('public', '2000::/3')

/** Index of the ranges by first byte, in their order: most addresses are compared with at most one range. */
function byFirstByte(all: readonly Range[], version: 4 | 6): readonly (readonly Range[])[] {
  const index = Array.from({ length: 256 }, (): Range[] => [])
  for (const range of all) {
    const { base, length } = range.prefix
    if (base.version !== version) continue
    const [first = 0] = base.bytes
    for (let byte = first; byte < first + 2 ** (8 - Math.min(8, length)); byte += 1) index[byte]?.push(range)
  }
  return index
}
const special = { 4: byFirstByte(special4, 4), 6: byFirstByte(special6, 6) }

/** Classifies by bytes. An allow-list: unknown IPv6 is reserved, not public. */
export function classify(address: Address): AddressClass {
  const plain = unmap(address)
  const found = special[plain.version][plain.bytes[0] ?? 0]?.find((range) => contains(range.prefix, plain))
  if (found) return found.addressClass
  if (plain.version === 4) return 'public'
  return globalUnicast && contains(globalUnicast.prefix, plain) ? 'public' : 'reserved'
}

/** Every block that is not public. Of IPv6, everything outside 2000::/3 is not public either. */
export const specialPrefixes = (version: 4 | 6): Prefix[] =>
  (version === 4 ? special4 : special6).flatMap(({ prefix }) => (prefix.base.version === version ? [prefix] : []))

/** Whether every address of a block is public. */
export function isPublic(block: Prefix): boolean {
  const { version } = block.base
  if (specialPrefixes(version).some((each) => overlaps(each, block))) return false
  return version === 4 || (block.length >= 3 && classify(block.base) === 'public')
}

const overlaps = (a: Prefix, b: Prefix): boolean => (a.length <= b.length ? contains(a, b.base) : contains(b, a.base))

/** SMTP ports, closed to customers: one spammer ruins the reputation of an address. */
export const mailPorts: readonly number[] = [25, 465, 587, 2525]
