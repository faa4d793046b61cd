import type { Proxy } from '../../client/customer.ts'
import type { ProxyEndpoint } from '../endpoint.ts'

/** A proxy's name: the address to connect to. */
export const nameOf = ({ ip, port }: Proxy): string => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`)

export function endpointOf(proxy: Proxy, password: string): ProxyEndpoint {
  const { ip: host, port, username: login, port_type: protocol } = proxy
  const { https_host, https_port, browser_host: browserHost } = proxy
  const tls =
    https_host === null || https_port === null ? undefined : { host: https_host, port: https_port, browserHost }
  return { host, port, login, password, protocol, tls }
}
