import type { Proxy } from './operations.ts'

/** The protocols of docs/proxy-urls.md. `https` is the proxy over TLS. */
export type ProxyProtocol = 'http' | 'socks5h' | 'https'

type ProxyAccess = Pick<Proxy, 'ip' | 'port' | 'username' | 'password' | 'https_host' | 'https_port' | 'browser_host'>

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host)

/** Scheme, host and port. Browsers and Playwright need the host name for browsers over `https`. */
function serverOf(proxy: ProxyAccess, protocol: ProxyProtocol, forBrowser: boolean): string {
  if (protocol !== 'https') return `${protocol}://${bracketed(proxy.ip)}:${proxy.port}`
  const host = forBrowser ? proxy.browser_host : proxy.https_host
  if (host === null || proxy.https_port === null) throw new TypeError('this proxy has no https address; use http')
  return `https://${bracketed(host)}:${proxy.https_port}`
}

function passwordOf({ password }: ProxyAccess): string {
  if (password === null) throw new TypeError('the password is hidden: the token lacks the scope passwords')
  return password
}

/** A URL with login and password, for curl, undici, requests and the like. */
export function proxyUrl(proxy: ProxyAccess, protocol: ProxyProtocol = 'http'): string {
  const [scheme, address] = serverOf(proxy, protocol, false).split('://')
  return `${scheme}://${encodeURIComponent(proxy.username)}:${encodeURIComponent(passwordOf(proxy))}@${address}`
}

/** For Bun: `fetch(url, bunProxy(proxy))`. */
export const bunProxy = (proxy: ProxyAccess, protocol: 'http' | 'https' = 'http'): { readonly proxy: string } => ({
  proxy: proxyUrl(proxy, protocol),
})

/** For Node: `fetch(url, { dispatcher: new ProxyAgent(undiciProxy(proxy)) })`, with ProxyAgent of undici. */
export const undiciProxy = (
  proxy: ProxyAccess,
  protocol: 'http' | 'https' = 'http',
): { readonly uri: string; readonly token: string } => ({
  uri: serverOf(proxy, protocol, false),
  token: `Basic ${btoa(`${proxy.username}:${passwordOf(proxy)}`)}`,
})

/** For Playwright: `chromium.launch({ proxy: playwrightProxy(proxy) })`. */
export const playwrightProxy = (
  proxy: ProxyAccess,
  protocol: 'http' | 'https' = 'http',
): { readonly server: string; readonly username: string; readonly password: string } => ({
  server: serverOf(proxy, protocol, true),
  username: proxy.username,
  password: passwordOf(proxy),
})
