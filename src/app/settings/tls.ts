import { join } from 'node:path'
import { acmeFiles, type CertificateFiles } from '../../dataplane/tls/certificate.ts'
import { type GatewayConfig, gatewaySettings } from './gateway.ts'
import {
  badSetting,
  type ConfigOf,
  listenAddress,
  listOf,
  matching,
  optional,
  parsed,
  path,
  type Read,
  setting,
  whole,
} from './reading.ts'

const maxNames = 100
const namesProblem = `must be up to ${maxNames} host names, like shop.example.net; no addresses, no *`
/** A name that http-01 can prove: no wildcard, no address. */
const namePattern = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/

const readNames: Read<readonly string[]> = (text, bad) => {
  const names = [...new Set(listOf(matching(namePattern, namesProblem))(text.toLowerCase(), bad))]
  if (names.length > maxNames) throw bad(namesProblem)
  return names
}

const termsProblem = 'must be "agreed": the authority requires acceptance of its terms'
const readTerms = parsed((text) => (text === 'agreed' || text === '' ? text !== '' : undefined), termsProblem)

/** No character with a meaning in a mailto: URI. */
const readContact = matching(/^[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9.-]{1,190}$/, 'must be an e-mail address')

const readDirectory = parsed((text) => {
  const url = URL.parse(text)
  return url?.protocol === 'https:' && url.username === '' ? url.href : undefined
}, 'must be an https:// address')

const readListen = listenAddress(65_535, 'must be an address and a port, like 0.0.0.0:80 or [::]:80')
const letsEncrypt = 'https://acme-v02.api.letsencrypt.org/directory'

const readTicketSecret = matching(/^[\x21-\x7e]{32,200}$/, 'must have 32 to 200 characters, no spaces')

export const tlsSettings = {
  tlsCert: setting('TURNPIKE_TLS_CERT', 'FILE', '', optional(path)),
  tlsKey: setting('TURNPIKE_TLS_KEY', 'FILE', '', optional(path)),
  acmeNames: setting('TURNPIKE_ACME_NAMES', 'NAMES', '', readNames),
  acmeTerms: setting('TURNPIKE_ACME_TERMS', 'agreed', '', readTerms),
  acmeContact: setting('TURNPIKE_ACME_CONTACT', 'ADDRESS', '', optional(readContact)),
  acmeDirectory: setting('TURNPIKE_ACME_DIRECTORY', 'URL', letsEncrypt, readDirectory),
  acmeCa: setting('TURNPIKE_ACME_CA', 'FILE', '', optional(path)),
  acmeListen: setting('TURNPIKE_ACME_LISTEN', 'ADDRESS:PORT', '[::]:80', readListen),
  gatewayTlsPort: setting('TURNPIKE_GATEWAY_TLS_PORT', 'PORT', '0', whole(0, 65_535)),
  gatewayTicketSecret: setting('TURNPIKE_GATEWAY_TICKET_SECRET', 'TEXT', '', optional(readTicketSecret)),
}

type TlsConfig = ConfigOf<typeof tlsSettings>

/** Refuses TLS settings that do not fit together. */
export function assertTlsConfig(config: TlsConfig): void {
  const { tlsCert, tlsKey } = config
  const bad = (name: keyof TlsConfig, problem: string) => badSetting(tlsSettings[name], problem)
  if (tlsCert !== undefined && tlsKey === undefined) {
    throw bad('tlsKey', 'must be given too, with a certificate')
  }
  if (tlsKey !== undefined && tlsCert === undefined) throw bad('tlsCert', 'must be given too, with a key')
  const isAcme = config.acmeNames.length > 0
  if (isAcme && tlsCert !== undefined) {
    throw bad('acmeNames', 'excludes TURNPIKE_TLS_CERT: the certificate is from files or from an authority')
  }
  if (isAcme && !config.acmeTerms) throw bad('acmeTerms', termsProblem)
}

/** A gateway with a TLS port needs a certificate. A shop behind a balancer may share the setting and has none. */
export function assertGatewayTls(config: TlsConfig & Pick<GatewayConfig, 'gatewayVpn' | 'gatewaySite'>): void {
  if (config.gatewayVpn && (config.gatewayTlsPort === 0 || config.gatewaySite.kind === 'off'))
    throw badSetting(gatewaySettings.gatewayVpn, 'needs TURNPIKE_GATEWAY_TLS_PORT, and a TURNPIKE_GATEWAY_SITE')
  if (config.gatewayTlsPort === 0 || isTls(config)) return
  const advice = 'set TURNPIKE_TLS_CERT and TURNPIKE_TLS_KEY, or TURNPIKE_ACME_NAMES'
  throw badSetting(tlsSettings.gatewayTlsPort, `needs a certificate: ${advice}`)
}

export const isTls = (config: Pick<TlsConfig, 'tlsCert' | 'acmeNames'>): boolean =>
  config.tlsCert !== undefined || config.acmeNames.length > 0

export const acmeFolder = (folder: string): string => join(folder, 'acme')

/** The certificate's files, from the operator or from ACME. */
export function certificateFilesOf(config: TlsConfig & { readonly folder: string }): CertificateFiles | undefined {
  const { tlsCert: cert, tlsKey: key } = config
  if (cert !== undefined && key !== undefined) return { cert, key }
  return config.acmeNames.length > 0 ? acmeFiles(acmeFolder(config.folder)) : undefined
}
