import type { AccessKeys, VpnGateway } from '../../../domains/vpn/index.ts'

/** What an app needs to connect a device. */
export type LinkContent = {
  readonly device: string
  readonly keys: AccessKeys
  readonly gateways: readonly VpnGateway[]
}

export const appFormats = ['base64', 'singbox', 'mihomo', 'xray'] as const
export type AppFormat = (typeof appFormats)[number]

/** The ClientHello that apps imitate. Filters judge the one of Chrome to a foreign address. */
const fingerprint = 'firefox'
/** A gateway does not find VLESS and Trojan behind HTTP/2. */
const alpn = 'http/1.1'
const select = 'Proxy'
const auto = 'Auto'

/** The format that an app reads, by its User-Agent; undefined for any other client. */
export function formatOfApp(userAgent: string): AppFormat | undefined {
  if (/^(?:flclash|flowvy|murge|mihomo|prizrak-box|koala-clash|clash|stash)/i.test(userAgent)) return 'mihomo'
  if (/^(?:sfa|sfi|sfm|sft|karing|sing-?box)/i.test(userAgent)) return 'singbox'
  return undefined
}

/** The content type and the text of a format. */
export function writeLink(format: AppFormat, content: LinkContent): { readonly type: string; readonly text: string } {
  if (format === 'base64')
    return { type: 'text/plain', text: Buffer.from(toShareLinks(content).join('\n')).toString('base64') }
  if (format === 'mihomo') return { type: 'text/yaml', text: toMihomo(content) }
  const value = format === 'singbox' ? toSingBox(content) : toXray(content)
  return { type: 'application/json', text: JSON.stringify(value, null, 2) }
}

const hostOf = ({ host }: VpnGateway): string => (host.includes(':') ? `[${host}]` : host)

const nameOf = ({ name }: VpnGateway, protocol: string): string => `${name} ${protocol}`

/** `vless://` and `trojan://` links, one for each gateway and protocol. */
function toShareLinks({ keys, gateways }: LinkContent): string[] {
  return gateways.flatMap((gateway) => {
    const query = (fields: Readonly<Record<string, string>>): string =>
      new URLSearchParams({
        ...fields,
        security: 'tls',
        type: 'tcp',
        sni: gateway.host,
        alpn,
        fp: fingerprint,
      }).toString()
    const at = `${hostOf(gateway)}:${gateway.port}`
    const tag = (protocol: string): string => encodeURIComponent(nameOf(gateway, protocol))
    return [
      `vless://${keys.uuid}@${at}?${query({ encryption: 'none' })}#${tag('VLESS')}`,
      `trojan://${encodeURIComponent(keys.password)}@${at}?${query({})}#${tag('Trojan')}`,
    ]
  })
}

/** A whole configuration of sing-box: all traffic of the machine goes to the gateway that answers first. */
function toSingBox({ device, keys, gateways }: LinkContent) {
  const utls = { enabled: true, fingerprint }
  const proxies = gateways.flatMap((gateway) => {
    const of = { server: gateway.host, server_port: gateway.port }
    const tls = { enabled: true, server_name: gateway.host, utls }
    const first = { ...tls, alpn: [alpn] }
    return [
      // Without packet encoding, UDP goes by VLESS's own command; gateways have no XUDP.
      { type: 'vless', tag: nameOf(gateway, 'VLESS'), ...of, uuid: keys.uuid, packet_encoding: '', tls: first },
      { type: 'trojan', tag: nameOf(gateway, 'Trojan'), ...of, password: keys.password, tls: first },
      { type: 'http', tag: nameOf(gateway, 'HTTPS'), ...of, username: device, password: keys.password, tls: first },
    ]
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

/** Texts of YAML as JSON strings, which YAML reads. */
function toMihomo({ keys, gateways, device }: LinkContent): string {
  const proxies = gateways.flatMap((gateway) => {
    const of = { server: gateway.host, port: gateway.port, tls: true, 'client-fingerprint': fingerprint, alpn: [alpn] }
    return [
      { name: nameOf(gateway, 'Trojan'), type: 'trojan', ...of, sni: gateway.host, password: keys.password, udp: true },
      // Its UDP would be XUDP, which gateways do not have.
      {
        name: nameOf(gateway, 'VLESS'),
        type: 'vless',
        ...of,
        servername: gateway.host,
        uuid: keys.uuid,
        udp: false,
        network: 'tcp',
      },
      {
        name: nameOf(gateway, 'HTTPS'),
        type: 'http',
        ...of,
        sni: gateway.host,
        username: device,
        password: keys.password,
      },
    ]
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

/** A whole configuration of Xray for each gateway and protocol. */
function toXray({ keys, gateways }: LinkContent) {
  return gateways.flatMap((gateway) => {
    const { host: address, port } = gateway
    const tlsSettings = { serverName: address, alpn: [alpn], fingerprint }
    const streamSettings = { network: 'tcp', security: 'tls', tlsSettings }
    const vless = { vnext: [{ address, port, users: [{ id: keys.uuid, encryption: 'none' }] }] }
    const trojan = { servers: [{ address, port, password: keys.password }] }
    const configure = (protocol: string, label: string, settings: object) => ({
      remarks: nameOf(gateway, label),
      inbounds: [{ tag: 'socks', protocol: 'socks', listen: '127.0.0.1', port: 10_808, settings: { udp: true } }],
      outbounds: [{ tag: 'proxy', protocol, settings, streamSettings }],
    })
    return [configure('vless', 'VLESS', vless), configure('trojan', 'Trojan', trojan)]
  })
}
