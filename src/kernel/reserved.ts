import { contains, type Prefix, readPrefix } from './address.ts'

/** IPv4 less these is the public internet: the special-purpose registry of RFC 6890 and multicast. */
const specialFour = prefixes(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
)

/** Only 2000::/3 is given out to the public, and of that not these: they carry IPv4 inside, or are for documents and tests. */
const publicSix = prefixes('2000::/3')
const specialSix = prefixes('2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20')

/** Whether every address of a block is one that strangers on the internet can really have. */
export function isPublic(block: Prefix): boolean {
  const { base } = block
  const special = base.version === 4 ? specialFour : specialSix
  if (special.some((each) => overlaps(each, block))) return false
  return base.version === 4 || publicSix.some((each) => each.length <= block.length && contains(each, base))
}

const overlaps = (a: Prefix, b: Prefix): boolean => (a.length <= b.length ? contains(a, b.base) : contains(b, a.base))

function prefixes(...texts: readonly string[]): readonly Prefix[] {
  return texts.map((text) => {
    const prefix = readPrefix(text)
    if (!prefix) throw new Error(`${text} is not a prefix`)
    return prefix
  })
}
