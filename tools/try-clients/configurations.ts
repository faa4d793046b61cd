import { readShareLink } from './share-link.ts'

/** The programs that can be tried. */
export const clients = ['xray', 'sing-box'] as const
export type Client = (typeof clients)[number]

/** The name and password of the local port that a client opens for the checks. */
type Login = { readonly username: string; readonly password: string }

/** One way to connect: a name, and the client's configuration for it with a local SOCKS5 port. */
export type Entry = {
  readonly client: Client
  /** The value of `?format=` that it is from. */
  readonly format: string
  readonly name: string
  /** An HTTP proxy carries only TCP. */
  readonly hasUdp: boolean
  readonly configure: (port: number, login: Login) => object
}

const xraySocks = (port: number, { username: user, password: pass }: Login): object => ({
  protocol: 'socks',
  listen: '127.0.0.1',
  port,
  settings: { auth: 'password', accounts: [{ user, pass }], udp: true, ip: '127.0.0.1' },
})

/** What apps with Xray make of `?format=base64`. */
export function entriesOfShareLinks(text: string): Entry[] {
  const links = Buffer.from(text, 'base64').toString().split('\n').filter(Boolean)
  return links.map((link) => {
    const outbound = readShareLink(link)
    const configure: Entry['configure'] = (port, login) => ({
      log: { loglevel: 'warning' },
      inbounds: [xraySocks(port, login)],
      outbounds: [outbound],
    })
    return { client: 'xray', format: 'base64', name: outbound.tag, hasUdp: true, configure }
  })
}

type XrayConfiguration = { readonly remarks: string; readonly inbounds: unknown }

/** Each configuration of `?format=xray`, with another local port. */
export const entriesOfXray = (text: string): Entry[] =>
  (JSON.parse(text) as XrayConfiguration[]).map((served) => ({
    client: 'xray',
    format: 'xray',
    name: served.remarks,
    hasUdp: true,
    configure: (port, login) => ({ ...served, inbounds: [xraySocks(port, login)] }),
  }))

type SingBoxOutbound = { readonly type: string; readonly tag: string; readonly server?: string }

/**
 * Each server of `?format=singbox`. Its device and its routes would take over the machine's traffic, and its groups
 * would try public addresses, so a local port and the one server replace them.
 */
export function entriesOfSingBox(text: string): Entry[] {
  const { outbounds } = JSON.parse(text) as { readonly outbounds: readonly SingBoxOutbound[] }
  return outbounds.flatMap((outbound) => {
    if (outbound.server === undefined) return []
    const configure: Entry['configure'] = (port, login) => ({
      log: { level: 'warn' },
      inbounds: [{ type: 'mixed', listen: '127.0.0.1', listen_port: port, users: [login] }],
      outbounds: [outbound],
    })
    return { client: 'sing-box', format: 'singbox', name: outbound.tag, hasUdp: outbound.type !== 'http', configure }
  })
}
