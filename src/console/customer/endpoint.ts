export type ProxyEndpoint = {
  readonly host: string
  readonly port: number
  readonly login: string
  readonly password: string
  readonly protocol: 'http' | 'socks' | 'both'
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host)

export function toUrl({ host, port, login, password, protocol }: ProxyEndpoint): string {
  const scheme = protocol === 'socks' ? 'socks5h' : 'http'
  return `${scheme}://${encodeURIComponent(login)}:${encodeURIComponent(password)}@${bracketed(host)}:${port}`
}

export const toTelegram = ({ host, port, login, password }: ProxyEndpoint): string =>
  `tg://socks?${new URLSearchParams({ server: host, port: String(port), user: login, pass: password })}`
