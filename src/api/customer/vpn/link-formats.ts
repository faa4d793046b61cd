import type { GatewayProtocol } from '../../../core/vpn-protocols.ts'
import { usualLinks } from '../../../domains/fleet/rules.ts'
import type { AccessKeys, VpnGateway } from '../../../domains/vpn/index.ts'

/** What an app needs to connect a device; with `notice`, one entry that shows the text and connects nothing. */
export type LinkContent = {
  readonly device: string
  readonly keys: AccessKeys
  /** Of its requests over WebSocket and XHTTP. */
  readonly path: string
  readonly gateways: readonly VpnGateway[]
  readonly notice?: string | undefined
  /** The notice of a format that has no entry for what the gateways serve. */
  readonly notForApp: string
}

export const appFormats = ['base64', 'singbox', 'mihomo', 'xray'] as const
export type AppFormat = (typeof appFormats)[number]

/** Filters judge the ClientHello of Chrome to a foreign address. */
const usualFingerprint = 'firefox'
const select = 'Proxy'
const auto = 'Auto'

/** How bytes of a protocol travel inside TLS, as each format says it; without `singBox`, sing-box has no such way. */
type Transport = (at: { readonly path: string; readonly host: string; readonly xmux: number | null }) => {
  readonly share: Readonly<Record<string, string>>
  readonly singBox?: object
  readonly mihomo: object
  readonly xray: object
}

const tcp: Transport = () => ({
  share: { type: 'tcp' },
  singBox: {},
  mihomo: { network: 'tcp' },
  xray: { network: 'tcp' },
})

const webSocket: Transport = ({ path, host }) => ({
  share: { type: 'ws', path, host },
  singBox: { transport: { type: 'ws', path, headers: { Host: host } } },
  mihomo: { network: 'ws', 'ws-opts': { path, headers: { Host: host } } },
  xray: { network: 'ws', wsSettings: { path, host } },
})

/** When an app opens a new connection for XHTTP: as in Xray, which has no other values once one is given. */
const renewal = { requests: '600-900', seconds: '1800-3000' }

const xhttp: Transport = ({ path, host, xmux }) => {
  const of = { path, host, mode: 'auto' }
  const extra = xmux !== null && {
    xmux: { maxConnections: xmux, hMaxRequestTimes: renewal.requests, hMaxReusableSecs: renewal.seconds },
  }
  const reuse = xmux !== null && {
    'reuse-settings': {
      'max-connections': String(xmux),
      'h-max-request-times': renewal.requests,
      'h-max-reusable-secs': renewal.seconds,
    },
  }
  return {
    share: { type: 'xhttp', ...of, ...(extra && { extra: JSON.stringify(extra) }) },
    mihomo: { network: 'xhttp', 'xhttp-opts': { ...of, ...reuse } },
    xray: { network: 'xhttp', xhttpSettings: { ...of, ...(extra && { extra }) } },
  }
}

/** A way to connect. A format that has no such entry leaves it out. */
type Form = {
  readonly name: GatewayProtocol
  readonly label: string
  readonly protocol: 'vless' | 'trojan' | 'http'
  readonly transport: Transport
  /** What apps offer over TLS, unless the operator says otherwise. */
  readonly alpn: 'h2' | 'http/1.1'
}

/** All ways, in the order in which apps show them. */
const forms: readonly Form[] = [
  { name: 'vless', label: 'VLESS', protocol: 'vless', transport: tcp, alpn: 'http/1.1' },
  { name: 'xhttp', label: 'XHTTP', protocol: 'vless', transport: xhttp, alpn: 'h2' },
  { name: 'websocket', label: 'WebSocket', protocol: 'vless', transport: webSocket, alpn: 'http/1.1' },
  { name: 'trojan', label: 'Trojan', protocol: 'trojan', transport: tcp, alpn: 'http/1.1' },
  { name: 'http', label: 'HTTPS', protocol: 'http', transport: tcp, alpn: 'http/1.1' },
]

/** One form at one gateway. */
type Entry = Pick<LinkContent, 'device' | 'keys'> & {
  readonly protocol: Form['protocol']
  readonly transport: ReturnType<Transport>
  readonly gateway: VpnGateway
  readonly tag: string
  readonly fingerprint: string
  readonly alpn: readonly string[]
}

const nowhere: VpnGateway = { name: '', host: '127.0.0.1', port: 1, links: usualLinks, pin: null }

/** Never none: an app with no entry would connect to nothing and send all traffic past it. */
function entriesOf(format: AppFormat, { gateways, notice, notForApp, ...of }: LinkContent): readonly Entry[] {
  const toNotice = (text: string) => forms.slice(0, 1).map((form) => toEntry(form, nowhere, text, of))
  if (notice !== undefined) return toNotice(notice)
  const entries = gateways.flatMap((gateway) =>
    forms
      .filter(({ name }) => gateway.links.protocols?.includes(name) ?? true)
      .map((form) => toEntry(form, gateway, `${gateway.name} ${form.label}`, of))
      .filter((entry) => isKnownTo(format, entry)),
  )
  return entries.length > 0 ? entries : toNotice(notForApp)
}

function isKnownTo(format: AppFormat, { protocol, transport }: Entry): boolean {
  if (format === 'mihomo') return true
  return format === 'singbox' ? transport.singBox !== undefined : protocol !== 'http'
}

function toEntry(
  { name, protocol, transport, alpn: usual }: Form,
  gateway: VpnGateway,
  tag: string,
  own: Pick<LinkContent, 'device' | 'keys' | 'path'>,
): Entry {
  const { device, keys, path } = gateway.ofExit ?? own
  const { fingerprint, alpn, xmux } = gateway.links
  const offered = alpn ?? [usual]
  return {
    protocol,
    transport: transport({ path, host: gateway.host, xmux }),
    gateway,
    tag,
    device,
    keys,
    fingerprint: fingerprint ?? usualFingerprint,
    alpn: toOffered(name, offered),
  }
}

/**
 * Xray offers what its fingerprint offers, also h2, and speaks over XHTTP what this list has. With `http/1.1` alone
 * it would speak HTTP/1.1 after both sides have agreed on h2.
 */
function toOffered(name: GatewayProtocol, offered: readonly string[]): readonly string[] {
  if (name === 'xhttp') return offered.length === 0 || offered.includes('h2') ? offered : ['h2']
  // A gateway does not find a key behind HTTP/2.
  return name === 'http' ? offered : offered.filter((each) => each !== 'h2')
}

/** The format that an app reads, by its User-Agent; undefined for any other client. */
export function formatOfApp(userAgent: string): AppFormat | undefined {
  if (/^(?:flclash|flowvy|murge|mihomo|prizrak-box|koala-clash|clash|stash)/i.test(userAgent)) return 'mihomo'
  if (/^(?:sfa|sfi|sfm|sft|karing|sing-?box)/i.test(userAgent)) return 'singbox'
  return undefined
}

/** The content type and the text of a format. */
export function writeLink(format: AppFormat, content: LinkContent): { readonly type: string; readonly text: string } {
  const entries = entriesOf(format, content)
  if (format === 'base64')
    return { type: 'text/plain', text: Buffer.from(toShareLinks(entries).join('\n')).toString('base64') }
  if (format === 'mihomo') return { type: 'text/yaml', text: toMihomo(entries) }
  const value = format === 'singbox' ? toSingBox(entries) : toXray(entries)
  return { type: 'application/json', text: JSON.stringify(value, null, 2) }
}

const hostOf = ({ host }: VpnGateway): string => (host.includes(':') ? `[${host}]` : host)

/** `vless://` and `trojan://` links. */
const toShareLinks = (entries: readonly Entry[]): string[] =>
  entries.map(({ protocol, transport, gateway, keys, tag, fingerprint, alpn }) => {
    const [key, own] = protocol === 'vless' ? [keys.uuid, { encryption: 'none' }] : [keys.password, {}]
    const offered = alpn.length > 0 ? { alpn: alpn.join(',') } : {}
    const tls = { security: 'tls', ...transport.share, sni: gateway.host, ...offered, fp: fingerprint }
    const pin = gateway.pin ? { pcs: gateway.pin.certificate } : {}
    const query = new URLSearchParams({ ...own, ...tls, ...pin }).toString()
    const at = `${hostOf(gateway)}:${gateway.port}`
    return `${protocol}://${encodeURIComponent(key)}@${at}?${query}#${encodeURIComponent(tag)}`
  })

/** A whole configuration of sing-box: all traffic of the machine goes to the gateway that answers first. */
function toSingBox(entries: readonly Entry[]) {
  const proxies = entries.map(({ protocol: type, transport, gateway, device, keys, tag, fingerprint, alpn }) => {
    const utls = { enabled: true, fingerprint }
    const pin = gateway.pin ? { certificate_public_key_sha256: [gateway.pin.key] } : {}
    const tls = { enabled: true, server_name: gateway.host, utls, alpn, ...pin }
    const of = { type, tag, server: gateway.host, server_port: gateway.port, tls, ...transport.singBox }
    if (type === 'vless') return { ...of, uuid: keys.uuid, packet_encoding: 'xudp' }
    return type === 'trojan' ? { ...of, password: keys.password } : { ...of, username: device, password: keys.password }
  })
  const tags = proxies.map(({ tag }) => tag)
  return {
    log: { level: 'warn' },
    inbounds: [{ type: 'tun', tag: 'tun', address: ['172.19.0.1/30', 'fdfe:dcba:9876::1/126'], auto_route: true }],
    outbounds: [
      { type: 'selector', tag: select, outbounds: [auto, ...tags] },
      { type: 'urltest', tag: auto, outbounds: tags },
      ...proxies,
      { type: 'direct', tag: 'direct' },
    ],
    route: { auto_detect_interface: true, final: select },
  }
}

/** Texts of YAML as JSON strings, which YAML reads. */
function toMihomo(entries: readonly Entry[]): string {
  const proxies = entries.map(({ protocol: type, transport, gateway, device, keys, tag: name, fingerprint, alpn }) => {
    const at = { server: gateway.host, port: gateway.port, tls: true }
    const pin = gateway.pin ? { fingerprint: gateway.pin.certificate } : {}
    const of = { name, type, ...at, 'client-fingerprint': fingerprint, alpn, ...pin }
    const sni = gateway.host
    const udp = { udp: true, 'packet-encoding': 'xudp' }
    if (type === 'vless') return { ...of, servername: sni, uuid: keys.uuid, ...udp, ...transport.mihomo }
    return type === 'trojan'
      ? { ...of, sni, password: keys.password, udp: true, ...transport.mihomo }
      : { ...of, sni, username: device, password: keys.password }
  })
  const names = proxies.map(({ name }) => name)
  const groups = [
    { name: select, type: 'select', proxies: [auto, ...names, 'DIRECT'] },
    { name: auto, type: 'url-test', url: 'https://www.gstatic.com/generate_204', interval: 300, proxies: names },
  ]
  const items = (list: readonly object[]): string => list.map((each) => `  - ${JSON.stringify(each)}\n`).join('')
  return `proxies:\n${items(proxies)}proxy-groups:\n${items(groups)}rules:\n  - ${JSON.stringify(`MATCH,${select}`)}\n`
}

/** A whole configuration of Xray for each entry. */
const toXray = (entries: readonly Entry[]) =>
  entries.map(({ protocol, transport, gateway, keys, tag: remarks, fingerprint, alpn }) => {
    const { host: address, port } = gateway
    const pin = gateway.pin ? { pinnedPeerCertSha256: gateway.pin.certificate } : {}
    const tlsSettings = { serverName: address, alpn, fingerprint, ...pin }
    const streamSettings = { ...transport.xray, security: 'tls', tlsSettings }
    const settings =
      protocol === 'vless'
        ? { vnext: [{ address, port, users: [{ id: keys.uuid, encryption: 'none' }] }] }
        : { servers: [{ address, port, password: keys.password }] }
    return {
      remarks,
      inbounds: [{ tag: 'socks', protocol: 'socks', listen: '127.0.0.1', port: 10_808, settings: { udp: true } }],
      outbounds: [{ tag: 'proxy', protocol, settings, streamSettings }],
    }
  })
