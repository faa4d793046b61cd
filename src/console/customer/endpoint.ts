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

/** The ways to write an endpoint on one line, by their numbers in an export. */
export const lineForms = ['1', '2', '4'] as const
export type LineForm = (typeof lineForms)[number]

export function toLine(of: ProxyEndpoint, form: LineForm): string {
  const address = `${bracketed(of.host)}:${of.port}`
  const access = `${of.login}:${of.password}`
  return { 1: `${address}:${access}`, 2: `${access}@${address}`, 4: toUrl(of) }[form]
}
