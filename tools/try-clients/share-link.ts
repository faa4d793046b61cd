/** An outbound of Xray's configuration. */
export type Outbound = {
  readonly tag: string
  readonly protocol: string
  readonly settings: object
  readonly streamSettings: object
}

/** The fields of a transport, as the link has them; a field that is not here is an error. */
const transportFields: Readonly<Record<string, readonly string[]>> = {
  tcp: [],
  raw: [],
  ws: ['path', 'host'],
  httpupgrade: ['path', 'host'],
  xhttp: ['path', 'host', 'mode', 'extra'],
}
const commonFields = ['encryption', 'flow', 'security', 'type', 'sni', 'alpn', 'fp', 'pcs', 'packetEncoding']

const defined = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined))

/** The address that a link names, without the brackets of IPv6. */
const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1')

function streamOf(url: URL): object {
  const query = url.searchParams
  const network = query.get('type') ?? 'tcp'
  const own = transportFields[network]
  if (!own) throw new Error(`the link has the unknown transport ${network}`)
  const unknown = [...query.keys()].find((name) => ![...commonFields, ...own].includes(name))
  if (unknown !== undefined) throw new Error(`the link has the unknown field ${unknown}`)
  if (query.get('security') !== 'tls') throw new Error('the link is not over TLS')
  const extra = query.get('extra')
  const transport = defined({
    ...Object.fromEntries(own.map((name) => [name, query.get(name)])),
    extra: extra === null ? undefined : JSON.parse(extra),
  })
  const tls = {
    serverName: query.get('sni') ?? hostOf(url),
    alpn: query.get('alpn')?.split(','),
    fingerprint: query.get('fp'),
    pinnedPeerCertSha256: query.get('pcs'),
  }
  return {
    network,
    security: 'tls',
    tlsSettings: defined(tls),
    ...(own.length > 0 && { [`${network}Settings`]: transport }),
  }
}

/** The outbound that an app with Xray makes of a share link. Fails if the link has a field that is unknown here. */
export function readShareLink(link: string): Outbound {
  const url = new URL(link)
  const protocol = url.protocol.slice(0, -1)
  const key = decodeURIComponent(url.username)
  const of = { address: hostOf(url), port: Number(url.port) }
  const tag = decodeURIComponent(url.hash.slice(1))
  const streamSettings = streamOf(url)
  const { encryption = 'none', flow } = Object.fromEntries(url.searchParams)
  if (protocol === 'vless') {
    const users = [defined({ id: key, encryption, flow })]
    return { tag, protocol, settings: { vnext: [{ ...of, users }] }, streamSettings }
  }
  if (protocol === 'trojan') return { tag, protocol, settings: { servers: [{ ...of, password: key }] }, streamSettings }
  throw new Error(`the link has the unknown scheme ${protocol}`)
}
