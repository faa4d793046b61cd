import { join } from 'node:path'
import { logLevels } from '../../adapters/log.ts'
import { formatAddress, hostAndPort, type Prefix, readAddress, readPrefix } from '../../core/address.ts'
import { readContact } from '../../core/contact.ts'
import type { NodeKind } from '../../domains/fleet/rules.ts'
import { gatewaySettings } from './gateway.ts'
import {
  badSetting,
  type ConfigOf,
  host,
  listenAddress,
  listOf,
  matching,
  oneOf,
  onOff,
  optional,
  parsed,
  partsOf,
  path,
  portRange,
  type Read,
  readSettings,
  setting,
  whole,
} from './reading.ts'
import { assertTlsConfig, isTls, tlsSettings } from './tls.ts'
import { vpnSettings } from './vpn.ts'

const urlWith = (protocol: RegExp, problem: string): Read<string> =>
  parsed((text) => (protocol.test(URL.parse(text)?.protocol ?? '') ? text : undefined), problem)

const tlsModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full']

const readDatabaseUrl = parsed(
  (text) => {
    if (!/^postgres(ql)?:\/\/[^\s]+$/.test(text)) return undefined
    const mode = URL.parse(text)?.searchParams.get('sslmode') ?? 'disable'
    return URL.canParse(text) && tlsModes.includes(mode) ? text : undefined
  },
  `must be a postgres:// address; its sslmode, if it has one, is ${tlsModes.join(', ')}`,
)

const readIpAddress = parsed((text) => {
  const address = readAddress(text)
  return address && formatAddress(address)
}, 'must be an IP address')

const readProxies = listOf((part, bad): Prefix => {
  const prefix = readPrefix(part)
  if (!prefix) throw bad(`has "${part}", which is not an address or a prefix`)
  return prefix
})

/** Origins are compared exactly, so each must be written as a browser sends it. */
const readOrigins: Read<readonly string[]> = (text, bad) => {
  const origins = partsOf(text)
  const wrong = origins.findIndex((each) => !/^https?:[^*]+$/.test(each) || URL.parse(each)?.origin !== each)
  if (wrong < 0) return origins
  throw bad(
    `has no valid origin at position ${wrong + 1}: write each as a browser sends it, like https://app.example or ` +
      'http://localhost:3000, in lower case, without a path, a default port or *',
  )
}

const readLocalNodes = listOf(
  oneOf<NodeKind | 'sandbox-vpn'>(
    ['gateway', 'vpn', 'sandbox-vpn'],
    'must be gateway, vpn, sandbox-vpn, or several of them, separated by commas',
  ),
)

/** The other roles use the next two ports. */
const lastMetricsPort = 65_533

const hexKey = matching(/^[0-9a-f]{64}$/i, 'must be 64 hexadecimal digits')
const visible = matching(/^[\x21-\x7e]{8,200}$/, 'must be 8 to 200 visible characters')
const mailAddress = matching(/^[^\s@\p{Cc}]{1,64}@[^\s@\p{Cc}]{1,190}$/u, 'must be an e-mail address')

const contact = parsed(
  readContact,
  'must be an e-mail address, like help@shop.example, or an https:// URL without a login',
)
const httpUrl = urlWith(/^https?:$/, 'must be an http or https address')
const smtpUrl = urlWith(/^smtps?:$/, 'must be an smtp:// or smtps:// address')
const registration = oneOf(['off', 'on', 'unconfirmed'], 'must be on, off or unconfirmed')
const metricsProblem = `must be an address and a port up to ${lastMetricsPort}, like 127.0.0.1:9464`
const metricsAddress = listenAddress(lastMetricsPort, metricsProblem)
const logLevel = oneOf(logLevels, `must be one of ${logLevels.join(', ')}`)
const perMinute = whole(0, 10_000_000)
const days = whole(1, 3650)

/** All settings, in the order in which help lists them. */
export const settings = {
  host: setting('TURNPIKE_HOST', 'ADDRESS', '127.0.0.1', host),
  port: setting('TURNPIKE_PORT', 'PORT', '8080', whole(0, 65_535)),
  folder: setting('TURNPIKE_DATA', 'FOLDER', './data', path),
  databaseUrl: setting('TURNPIKE_DATABASE_URL', 'URL', '', optional(readDatabaseUrl)),
  databaseReadUrl: setting('TURNPIKE_DATABASE_READ_URL', 'URL', '', optional(readDatabaseUrl)),
  databaseConnections: setting('TURNPIKE_DATABASE_CONNECTIONS', 'N', '12', whole(2, 200)),
  sandbox: setting('TURNPIKE_SANDBOX', 'on|off', 'on', onOff),
  sandboxToken: setting('TURNPIKE_SANDBOX_TOKEN', 'TOKEN', '', optional(visible)),
  secretKey: setting('TURNPIKE_SECRET_KEY', 'HEX', '', optional(hexKey)),
  checkpointFile: setting('TURNPIKE_CHECKPOINT_FILE', 'FILE', '', optional(path)),
  checkpointUrl: setting('TURNPIKE_CHECKPOINT_URL', 'URL', '', optional(httpUrl)),
  backupFolder: setting('TURNPIKE_BACKUP_FOLDER', 'FOLDER', '', optional(path)),
  backupHours: setting('TURNPIKE_BACKUP_HOURS', 'N', '24', whole(1, 8760)),
  backupKeep: setting('TURNPIKE_BACKUP_KEEP', 'N', '14', whole(1, 10_000)),
  backupKey: setting('TURNPIKE_BACKUP_KEY', 'on|off', 'on', onOff),
  ...tlsSettings,
  keepSessionDays: setting('TURNPIKE_KEEP_SESSION_DAYS', 'N', '30', days),
  keepSourceDays: setting('TURNPIKE_KEEP_SOURCE_DAYS', 'N', '90', days),
  keepHourDays: setting('TURNPIKE_KEEP_HOUR_DAYS', 'N', '400', whole(40, 3650)),
  gatewayHost: setting('TURNPIKE_GATEWAY_HOST', 'ADDRESS', '127.0.0.1', host),
  gatewayPort: setting('TURNPIKE_GATEWAY_PORT', 'PORT', '10800', whole(1, 65_535)),
  gatewayAddress: setting('TURNPIKE_GATEWAY_ADDRESS', 'ADDRESS', '', optional(readIpAddress)),
  premiumPorts: setting('TURNPIKE_PREMIUM_PORTS', 'FIRST-LAST', '20000-29999', portRange),
  premiumLeaseBytes: setting('TURNPIKE_PREMIUM_LEASE_BYTES', 'N', '8388608', whole(65_536, 999_999_999)),
  premiumWhitelist: setting('TURNPIKE_PREMIUM_WHITELIST', 'N', '100', whole(1, 10_000)),
  premiumHostDays: setting('TURNPIKE_PREMIUM_HOST_DAYS', 'N', '30', days),
  readsPerMinute: setting('TURNPIKE_RATE_READS', 'N', '1200', perMinute),
  chargesPerMinute: setting('TURNPIKE_RATE_CHARGES', 'N', '300', perMinute),
  changesPerHour: setting('TURNPIKE_RATE_CHANGES', 'N', '18000', perMinute),
  customerTokens: setting('TURNPIKE_CUSTOMER_TOKENS', 'N', '100', whole(1, 100_000)),
  trustedProxies: setting('TURNPIKE_TRUSTED_PROXIES', 'PREFIXES', '', readProxies),
  corsOrigins: setting('TURNPIKE_CORS_ORIGINS', 'ORIGINS', '', readOrigins),
  drainSeconds: setting('TURNPIKE_DRAIN_SECONDS', 'N', '0', whole(0, 300)),
  ...gatewaySettings,
  localNodes: setting('TURNPIKE_LOCAL_NODES', 'KINDS', '', (text, bad) => [...new Set(readLocalNodes(text, bad))]),
  ...vpnSettings,
  front: setting('TURNPIKE_FRONT', 'on|off', '', optional(onOff)),
  contact: setting('TURNPIKE_CONTACT', 'ADDRESS|URL', '', optional(contact)),
  registration: setting('TURNPIKE_REGISTRATION', 'on|off|unconfirmed', 'off', registration),
  smtpUrl: setting('TURNPIKE_SMTP_URL', 'URL', '', optional(smtpUrl)),
  noticesPerDay: setting('TURNPIKE_NOTICES_PER_DAY', 'N', '5', whole(1, 1000)),
  mailFrom: setting('TURNPIKE_MAIL_FROM', 'ADDRESS', 'turnpike@localhost', mailAddress),
  metricsListen: setting('TURNPIKE_METRICS_LISTEN', 'ADDRESS:PORT', '127.0.0.1:9464', optional(metricsAddress)),
  log: setting('TURNPIKE_LOG', 'LEVEL', 'info', logLevel),
}

export type Config = ConfigOf<typeof settings>

export function readConfig(
  env: Readonly<Record<string, string | undefined>>,
  flags: Readonly<Record<string, string | undefined>> = {},
): Config {
  const config = readSettings(settings, (each) => flags[each.flag] ?? env[each.env] ?? each.fallback)
  assertTlsConfig(config)
  if (config.databaseReadUrl !== undefined && config.databaseUrl === undefined)
    throw badSetting(settings.databaseReadUrl, 'needs TURNPIKE_DATABASE_URL: SQLite has no standby')
  return { ...config, publicUrl: publicUrlOf(config) }
}

/** The configured URL of the shop, or the first name of its ACME certificate. With TLS it must be https://. */
function publicUrlOf(config: Config): string | undefined {
  const { publicUrl, port, acmeNames, gatewayTlsPort, gatewayPort } = config
  if (gatewayTlsPort > 0 && gatewayTlsPort === gatewayPort) {
    throw badSetting(settings.gatewayTlsPort, 'must be another port than TURNPIKE_GATEWAY_PORT')
  }
  if (isTls(config) && publicUrl?.startsWith('http:')) {
    throw badSetting(settings.publicUrl, 'must begin with https://, because the shop serves only TLS')
  }
  if (publicUrl !== undefined || acmeNames[0] === undefined || port === 0) return publicUrl
  return `https://${acmeNames[0]}${port === 443 ? '' : `:${port}`}`
}

/** The loopback address of a server that listens on every address. */
const loopbackOf: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** Where the shop listens; a port of 0 is any free one, so the caller passes the real one. */
export const listenUrl = (config: Config, port = config.port): string =>
  `${isTls(config) ? 'https' : 'http'}://${hostAndPort(loopbackOf[config.host] ?? config.host, port)}`

/** Where customers and nodes reach the shop. */
export const shopUrl = (config: Config): string => config.publicUrl ?? listenUrl(config)

/** Folder that a shop and the nodes on its machine share: join keys, and the socket. */
export const joinFolder = (folder: string): string => join(folder, 'join')

export const joinKeyFile = (folder: string, kind: NodeKind): string => join(joinFolder(folder), `${kind}.key`)

/** The shop's socket for nodes on this machine. Only the owner can write its folder: no other program can answer. */
export const shopSocket = (folder: string): string => join(joinFolder(folder), 'shop.sock')
export const localShopUrl = (config: Pick<Config, 'folder'>): string => `unix:${shopSocket(config.folder)}`

const nodeFolders: Readonly<Record<NodeKind, string>> = { gateway: 'gateway', vpn: 'vpn-node' }
export const nodeFolder = ({ folder }: Pick<Config, 'folder'>, kind: NodeKind): string =>
  join(folder, nodeFolders[kind])

/** PostgreSQL's address without its password. */
export function nameOf(address: string): string {
  if (!URL.canParse(address)) return 'an address that cannot be read'
  const url = new URL(address)
  return `${url.protocol}//${url.username}${url.username === '' ? '' : '@'}${url.host}${url.pathname}`
}

/** The database as messages name it. */
export const databaseName = (config: Pick<Config, 'databaseUrl' | 'folder'>): string =>
  config.databaseUrl === undefined ? databaseAddress(config) : nameOf(config.databaseUrl)

/** PostgreSQL's address, or the SQLite file in the data folder. */
export const databaseAddress = ({ databaseUrl, folder }: Pick<Config, 'databaseUrl' | 'folder'>): string =>
  databaseUrl ?? join(folder, 'turnpike.db')
