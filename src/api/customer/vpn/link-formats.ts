import { type LinkProtocol, usualLinks } from '../../../domains/fleet/rules.ts'
import type { AccessKeys, VpnGateway } from '../../../domains/vpn/index.ts'

/** What an app needs to connect a device; with `notice`, one entry that shows the text and connects nothing. */
export type LinkContent = {
  readonly device: string
  readonly keys: AccessKeys
  readonly gateways: readonly VpnGateway[]
  readonly notice?: string | undefined
}

export const appFormats = ['base64', 'singbox', 'mihomo', 'xray'] as const
export type AppFormat = (typeof appFormats)[number]

/** Filters judge the ClientHello of Chrome to a foreign address. */
const usualFingerprint = 'firefox'
const usualAlpn = ['http/1.1'] as const
const select = 'Proxy'
const auto = 'Auto'

/** How bytes of a protocol travel inside TLS, as each format says it. */
type Transport = {
  readonly share: Readonly<Record<string, string>>
  readonly singBox: object
  readonly mihomo: object
  readonly xray: object
}
const tcp: Transport = { share: { type: 'tcp' }, singBox: {}, mihomo: { network: 'tcp' }, xray: { network: 'tcp' } }

/** A way to connect. A format that has no such entry leaves it out. */
type Form = { readonly label: string; readonly protocol: LinkProtocol; readonly transport: Transport }

/** All ways, in the order in which apps show them. */
const forms: readonly Form[] = [
  { label: 'VLESS', protocol: 'vless', transport: tcp },
  { label: 'Trojan', protocol: 'trojan', transport: tcp },
  { label: 'HTTPS', protocol: 'http', transport: tcp },
]

/** One form at one gateway. */
type Entry = Form &
  Pick<LinkContent, 'device' | 'keys'> & {
    readonly gateway: VpnGateway
    readonly tag: string
    readonly fingerprint: string
    readonly alpn: readonly string[]
  }

const nowhere: VpnGateway = { name: '', host: '127.0.0.1', port: 1, links: usualLinks, pin: null }

function entriesOf({ gateways, notice, ...of }: LinkContent): readonly Entry[] {
  if (notice !== undefined) return forms.slice(0, 1).map((form) => toEntry(form, nowhere, notice, of))
  return gateways.flatMap((gateway) =>
    forms
      .filter(({ protocol }) => gateway.links.protocols?.includes(protocol) ?? true)
      .map((form) => toEntry(form, gateway, `${gateway.name} ${form.label}`, of)),
  )
}

function toEntry(form: Form, gateway: VpnGateway, tag: string, of: Pick<LinkContent, 'device' | 'keys'>): Entry {
  const { fingerprint, alpn } = gateway.links
  const offered = alpn ?? usualAlpn
  // A gateway does not find VLESS and Trojan behind HTTP/2.
  const fitting = form.protocol === 'http' ? offered : offered.filter((each) => each !== 'h2')
  return { ...form, ...of, gateway, tag, fingerprint: fingerprint ?? usualFingerprint, alpn: fitting }
}

/** The format that an app reads, by its User-Agent; undefined for any other client. */
export function formatOfApp(userAgent: string): AppFormat | undefined {
  if (/^(?:flclash|flowvy|murge|mihomo|prizrak-box|koala-clash|clash|stash)/i.test(userAgent)) return 'mihomo'
  if (/^(?:sfa|sfi|sfm|sft|karing|sing-?box)/i.test(userAgent)) return 'singbox'
  return undefined
}

/** The content type and the text of a format. */
export function writeLink(format: AppFormat, content: LinkContent): { readonly type: string; readonly text: string } {
  const entries = entriesOf(content)
  if (format === 'base64')
    return { type: 'text/plain', text: Buffer.from(toShareLinks(entries).join('\n')).toString('base64') }
  if (format === 'mihomo') return { type: 'text/yaml', text: toMihomo(entries) }
  const value = format === 'singbox' ? toSingBox(entries) : toXray(entries)
  return { type: 'application/json', text: JSON.stringify(value, null, 2) }
}

const hostOf = ({ host }: VpnGateway): string => (host.includes(':') ? `[${host}]` : host)

/** `vless://` and `trojan://` links. */
const toShareLinks = (entries: readonly Entry[]): string[] =>
  entries.flatMap(({ protocol, transport, gateway, keys, tag, fingerprint, alpn }) => {
    if (protocol === 'http') return []
    const [key, own] = protocol === 'vless' ? [keys.uuid, { encryption: 'none' }] : [keys.password, {}]
    const offered = alpn.length > 0 ? { alpn: alpn.join(',') } : {}
    const tls = { security: 'tls', ...transport.share, sni: gateway.host, ...offered, fp: fingerprint }
    const pin = gateway.pin ? { pcs: gateway.pin.certificate } : {}
    const query = new URLSearchParams({ ...own, ...tls, ...pin }).toString()
    const at = `${hostOf(gateway)}:${gateway.port}`
    return [`${protocol}://${encodeURIComponent(key)}@${at}?${query}#${encodeURIComponent(tag)}`]
  })

/** A whole configuration of sing-box: all traffic of the machine goes to the gateway that answers first. */
function toSingBox(entries: readonly Entry[]) {
  const proxies = entries.map(({ protocol: type, transport, gateway, device, keys, tag, fingerprint, alpn }) => {
    const utls = { enabled: true, fingerprint }
    const pin = gateway.pin ? { certificate_public_key_sha256: [gateway.pin.key] } : {}
    const tls = { enabled: true, server_name: gateway.host, utls, alpn, ...pin }
    const of = { type, tag, server: gateway.host, server_port: gateway.port, tls, ...transport.singBox }
    // Without packet encoding, UDP goes by VLESS's own command; gateways have no XUDP.
    if (type === 'vless') return { ...of, uuid: keys.uuid, packet_encoding: '' }
    return type === 'trojan' ? { ...of, password: keys.password } : { ...of, username: device, password: keys.password }
  })
  const tags = proxies.map(({ tag }) => tag)
  return {
    log: { level: 'warn' },
    inbounds: [{ type: 'tun', tag: 'tun', address: ['172.19.0.1/30', 'fdfe:dcba:9876::1/126'], auto_route: true }],
    outbounds: [
      ...(tags.length > 0
        ? [
            { type: 'selector', tag: select, outbounds: [auto, ...tags] },
            { type: 'urltest', tag: auto, outbounds: tags },
          ]
        : []),
      ...proxies,
      { type: 'direct', tag: 'direct' },
    ],
    route: { auto_detect_interface: true, final: tags.length > 0 ? select : 'direct' },
  }
}

/** Trojan first: its UDP has many destinations. */
const mihomoOrder = ['trojan', 'vless', 'http']

/** Texts of YAML as JSON strings, which YAML reads. */
function toMihomo(entries: readonly Entry[]): string {
  const ordered = entries.toSorted(
    (a, b) =>
      (a.gateway === b.gateway ? 0 : entries.indexOf(a) - entries.indexOf(b)) ||
      mihomoOrder.indexOf(a.protocol) - mihomoOrder.indexOf(b.protocol),
  )
  const proxies = ordered.map(({ protocol: type, transport, gateway, device, keys, tag: name, fingerprint, alpn }) => {
    const at = { server: gateway.host, port: gateway.port, tls: true }
    const pin = gateway.pin ? { fingerprint: gateway.pin.certificate } : {}
    const of = { name, type, ...at, 'client-fingerprint': fingerprint, alpn, ...pin }
    const sni = gateway.host
    // UDP of VLESS would be XUDP, which gateways do not have.
    if (type === 'vless') return { ...of, servername: sni, uuid: keys.uuid, udp: false, ...transport.mihomo }
    return type === 'trojan'
      ? { ...of, sni, password: keys.password, udp: true, ...transport.mihomo }
      : { ...of, sni, username: device, password: keys.password }
  })
  const names = proxies.map(({ name }) => name)
  const groups = [
    { name: select, type: 'select', proxies: [...(names.length > 0 ? [auto] : []), ...names, 'DIRECT'] },
    ...(names.length > 0
      ? [{ name: auto, type: 'url-test', url: 'https://www.gstatic.com/generate_204', interval: 300, proxies: names }]
      : []),
  ]
  const items = (list: readonly object[]): string => list.map((each) => `  - ${JSON.stringify(each)}\n`).join('')
  return `proxies:\n${items(proxies)}proxy-groups:\n${items(groups)}rules:\n  - ${JSON.stringify(`MATCH,${select}`)}\n`
}

/** A whole configuration of Xray for each entry. */
const toXray = (entries: readonly Entry[]) =>
  entries.flatMap(({ protocol, transport, gateway, keys, tag: remarks, fingerprint, alpn }) => {
    if (protocol === 'http') return []
    const { host: address, port } = gateway
    const pin = gateway.pin ? { pinnedPeerCertSha256: gateway.pin.certificate } : {}
    const tlsSettings = { serverName: address, alpn, fingerprint, ...pin }
    const streamSettings = { ...transport.xray, security: 'tls', tlsSettings }
    const settings =
      protocol === 'vless'
        ? { vnext: [{ address, port, users: [{ id: keys.uuid, encryption: 'none' }] }] }
        : { servers: [{ address, port, password: keys.password }] }
    return [
      {
        remarks,
        inbounds: [{ tag: 'socks', protocol: 'socks', listen: '127.0.0.1', port: 10_808, settings: { udp: true } }],
        outbounds: [{ tag: 'proxy', protocol, settings, streamSettings }],
      },
    ]
  })
