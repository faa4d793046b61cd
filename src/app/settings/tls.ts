import { join, resolve } from 'node:path'
import { acmeFiles, type CertificateFiles } from '../../dataplane/tls/certificate.ts'
import { givenOf, partsOf, type Reading, type Setting, setting } from './reading.ts'

export type TlsConfig = {
  readonly tlsCert: string | undefined
  readonly tlsKey: string | undefined
  readonly acmeNames: readonly string[]
  readonly acmeTerms: boolean
  readonly acmeContact: string | undefined
  readonly acmeDirectory: string
  readonly acmeCa: string | undefined
  readonly acmeListen: { readonly host: string; readonly port: number }
  readonly gatewayTlsPort: number
}

export const tlsSettings = {
  tlsCert: setting(
    'TURNPIKE_TLS_CERT',
    'FILE',
    '',
    'a certificate and its issuers (PEM): the shop serves https alone; a new one is noticed by itself',
  ),
  tlsKey: setting('TURNPIKE_TLS_KEY', 'FILE', '', 'the private key of that certificate (PEM)'),
  acmeNames: setting(
    'TURNPIKE_ACME_NAMES',
    'NAMES',
    '',
    'instead of files: names that a certificate is got for by ACME, and renewed, separated by commas',
  ),
  acmeTerms: setting(
    'TURNPIKE_ACME_TERMS',
    'agreed',
    '',
    'says that you have read and agree to the terms of the ACME authority',
  ),
  acmeContact: setting('TURNPIKE_ACME_CONTACT', 'ADDRESS', '', 'an e-mail address that the authority may write to'),
  acmeDirectory: setting(
    'TURNPIKE_ACME_DIRECTORY',
    'URL',
    'https://acme-v02.api.letsencrypt.org/directory',
    'the authority',
  ),
  acmeCa: setting(
    'TURNPIKE_ACME_CA',
    'FILE',
    '',
    'certificates (PEM) that the authority itself is trusted by, where it is one of your own',
  ),
  acmeListen: setting(
    'TURNPIKE_ACME_LISTEN',
    'ADDRESS:PORT',
    '[::]:80',
    'where the authority finds us over plain HTTP; everybody else there is sent to the shop’s https address',
  ),
  gatewayTlsPort: setting(
    'TURNPIKE_GATEWAY_TLS_PORT',
    'PORT',
    '0',
    'a port for proxies over TLS (https://), with the same certificate; 0 is none',
  ),
} satisfies Record<keyof TlsConfig, Setting>

type TlsReading = Reading<keyof typeof tlsSettings>

const maxNames = 100
/** A name that http-01 can prove: no wildcard, no address. */
const namePattern = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/

export function readTlsConfig(reading: TlsReading): TlsConfig {
  const { text, bad } = reading
  const [cert, key] = [givenOf(text('tlsCert')), givenOf(text('tlsKey'))]
  if (cert !== undefined && key === undefined) throw bad('tlsKey', 'must be given too, where there is a certificate')
  if (key !== undefined && cert === undefined) throw bad('tlsCert', 'must be given too, where there is a key')
  const acmeNames = readNames(reading)
  if (acmeNames.length > 0 && cert !== undefined) {
    throw bad('acmeNames', 'excludes TURNPIKE_TLS_CERT: the certificate is from files or from an authority')
  }
  const config = {
    tlsCert: cert === undefined ? undefined : resolve(cert),
    tlsKey: key === undefined ? undefined : resolve(key),
    acmeNames,
    acmeTerms: readTerms(reading, acmeNames.length > 0),
    acmeContact: readContact(reading),
    acmeDirectory: readDirectory(reading),
    acmeCa: text('acmeCa') === '' ? undefined : resolve(text('acmeCa')),
    acmeListen: readListen(reading),
    gatewayTlsPort: reading.whole('gatewayTlsPort', 0, 65_535),
  }
  if (config.gatewayTlsPort > 0 && !isTls(config)) {
    throw bad(
      'gatewayTlsPort',
      'needs a certificate: set TURNPIKE_TLS_CERT and TURNPIKE_TLS_KEY, or TURNPIKE_ACME_NAMES',
    )
  }
  return config
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

function readNames(reading: TlsReading): string[] {
  const names = [...new Set(partsOf(reading.text('acmeNames').toLowerCase()))]
  if (names.length > maxNames || !names.every((name) => namePattern.test(name))) {
    throw reading.bad('acmeNames', `must be up to ${maxNames} host names, like shop.example.net; no addresses, no *`)
  }
  return names
}

function readTerms(reading: TlsReading, isNeeded: boolean): boolean {
  const text = reading.text('acmeTerms')
  if (text === 'agreed') return true
  if (text === '' && !isNeeded) return false
  throw reading.bad('acmeTerms', 'must be "agreed": the authority gives certificates to those who agree to its terms')
}

function readContact(reading: TlsReading): string | undefined {
  const text = reading.text('acmeContact')
  if (text === '') return undefined
  // No character with a meaning in a mailto: URI.
  if (!/^[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9.-]{1,190}$/.test(text))
    throw reading.bad('acmeContact', 'must be an e-mail address')
  return text
}

function readDirectory(reading: TlsReading): string {
  const url = URL.parse(reading.text('acmeDirectory'))
  if (url?.protocol !== 'https:' || url.username !== '')
    throw reading.bad('acmeDirectory', 'must be an https:// address')
  return url.href
}

function readListen(reading: TlsReading): TlsConfig['acmeListen'] {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]{1,255})):(\d{1,5})$/.exec(reading.text('acmeListen'))
  const port = Number(match?.[3] ?? 0)
  if (!match || port < 1 || port > 65_535) {
    throw reading.bad('acmeListen', 'must be an address and a port, like 0.0.0.0:80 or [::]:80')
  }
  return { host: match[1] ?? match[2] ?? '', port }
}
