import { join, resolve } from 'node:path'
import { type LogLevel, logLevels } from '../../adapters/log.ts'
import { formatAddress, hostAndPort, type Prefix, readAddress, readPrefix } from '../../core/address.ts'
import type { NodeKind } from '../../domains/fleet/rules.ts'
import { type GatewayConfig, gatewaySettings, readGatewayConfig } from './gateway.ts'
import { BadSetting, givenOf, partsOf, type Reading, type Setting, setting } from './reading.ts'
import {
  type BackupConfig,
  backupSettings,
  type ConsoleConfig,
  type CorsConfig,
  consoleSettings,
  corsSettings,
  type MetricsConfig,
  metricsSettings,
  type RetentionConfig,
  readBackupConfig,
  readConsoleConfig,
  readCorsConfig,
  readMetricsConfig,
  readRetentionConfig,
  retentionSettings,
} from './shop.ts'
import { isTls, readTlsConfig, type TlsConfig, tlsSettings } from './tls.ts'
import { readVpnConfig, type VpnConfig, vpnSettings } from './vpn.ts'

/** A node on the shop's machine: of this kind, or a VPN node if the shop is a sandbox. */
type LocalNode = NodeKind | 'sandbox-vpn'

export type Config = {
  readonly host: string
  readonly port: number
  readonly folder: string
  readonly databaseUrl: string | undefined
  readonly databaseConnections: number
  readonly sandbox: boolean
  readonly sandboxToken: string | undefined
  readonly secretKey: string | undefined
  readonly checkpointFile: string | undefined
  readonly checkpointUrl: string | undefined
  readonly gatewayHost: string
  readonly gatewayPort: number
  readonly gatewayAddress: string
  readonly premiumPorts: { readonly first: number; readonly last: number }
  readonly premiumLeaseBytes: number
  readonly premiumWhitelist: number
  readonly premiumHostDays: number
  readonly readsPerMinute: number
  readonly chargesPerMinute: number
  readonly customerTokens: number
  readonly trustedProxies: readonly Prefix[]
  readonly drainSeconds: number
  readonly localNodes: readonly LocalNode[]
  readonly log: LogLevel
} & VpnConfig &
  BackupConfig &
  RetentionConfig &
  MetricsConfig &
  GatewayConfig &
  TlsConfig &
  CorsConfig &
  ConsoleConfig

/** All settings, in the order in which help lists them. */
export const settings = {
  host: setting('TURNPIKE_HOST', 'ADDRESS', '127.0.0.1', 'where the shop listens'),
  port: setting('TURNPIKE_PORT', 'PORT', '8080', 'on which port'),
  folder: setting('TURNPIKE_DATA', 'FOLDER', './data', 'where the shop keeps its files'),
  databaseUrl: setting(
    'TURNPIKE_DATABASE_URL',
    'URL',
    '',
    'postgres://… for PostgreSQL; SQLite in the data folder without it',
  ),
  databaseConnections: setting(
    'TURNPIKE_DATABASE_CONNECTIONS',
    'N',
    '12',
    'how many connections a shop has to PostgreSQL; past its cores more only wait for one another',
  ),
  sandbox: setting('TURNPIKE_SANDBOX', 'on|off', 'on', 'whether an empty database opens as a sandbox'),
  sandboxToken: setting(
    'TURNPIKE_SANDBOX_TOKEN',
    'TOKEN',
    '',
    "fixes the sandbox customer's token, for scripts (8 to 200 visible characters)",
  ),
  secretKey: setting(
    'TURNPIKE_SECRET_KEY',
    'HEX',
    '',
    'the key that passwords are sealed with, 64 hexadecimal digits; else secret.key in the data folder',
  ),
  checkpointFile: setting(
    'TURNPIKE_CHECKPOINT_FILE',
    'FILE',
    '',
    'a file that every checkpoint is appended to; best where this machine can append and not change',
  ),
  checkpointUrl: setting('TURNPIKE_CHECKPOINT_URL', 'URL', '', 'an http(s) address that every checkpoint is sent to'),
  ...backupSettings,
  ...tlsSettings,
  ...retentionSettings,
  gatewayHost: setting('TURNPIKE_GATEWAY_HOST', 'ADDRESS', '127.0.0.1', 'where customers reach the gateway'),
  gatewayPort: setting('TURNPIKE_GATEWAY_PORT', 'PORT', '10800', 'on which port, HTTP and SOCKS5 alike'),
  gatewayAddress: setting(
    'TURNPIKE_GATEWAY_ADDRESS',
    'ADDRESS',
    '',
    "the gateway's IP address, where its host is a name; for lists of proxies by address",
  ),
  premiumPorts: setting(
    'TURNPIKE_PREMIUM_PORTS',
    'FIRST-LAST',
    '20000-29999',
    'ports of the gateway that are given to whitelisted customers',
  ),
  premiumLeaseBytes: setting(
    'TURNPIKE_PREMIUM_LEASE_BYTES',
    'N',
    '8388608',
    'how many bytes a node may carry for a sub-user before it asks again',
  ),
  premiumWhitelist: setting('TURNPIKE_PREMIUM_WHITELIST', 'N', '100', 'how many addresses a sub-user may whitelist'),
  premiumHostDays: setting('TURNPIKE_PREMIUM_HOST_DAYS', 'N', '30', 'how many days destination hosts are kept'),
  readsPerMinute: setting(
    'TURNPIKE_RATE_READS',
    'N',
    '1200',
    'requests a minute and token that do not charge, five times as many a customer; 0 is no limit',
  ),
  chargesPerMinute: setting(
    'TURNPIKE_RATE_CHARGES',
    'N',
    '300',
    'requests a minute and token that charge, five times as many a customer; 0 is no limit',
  ),
  customerTokens: setting('TURNPIKE_CUSTOMER_TOKENS', 'N', '100', 'how many tokens of a customer may be open at once'),
  trustedProxies: setting(
    'TURNPIKE_TRUSTED_PROXIES',
    'PREFIXES',
    '',
    'reverse proxies whose X-Forwarded-For is believed, separated by commas',
  ),
  ...corsSettings,
  drainSeconds: setting(
    'TURNPIKE_DRAIN_SECONDS',
    'N',
    '0',
    'how long a stopping shop still serves while /readyz fails, so that a load balancer notices',
  ),
  ...gatewaySettings,
  localNodes: setting(
    'TURNPIKE_LOCAL_NODES',
    'KINDS',
    '',
    'nodes on this machine that the shop lets join by itself: gateway, vpn, or gateway,vpn; ' +
      'sandbox-vpn is vpn in a sandbox alone, which up adds by itself where nothing is set and the machine allows it',
  ),
  ...vpnSettings,
  ...consoleSettings,
  ...metricsSettings,
  log: setting('TURNPIKE_LOG', 'LEVEL', 'info', logLevels.join(', ')),
} satisfies Record<keyof Config, Setting>

type SettingName = keyof typeof settings

/** Reads all settings or refuses the first bad one, naming it and what it takes. */
export function readConfig(
  env: Readonly<Record<string, string | undefined>>,
  flags: Readonly<Record<string, string | undefined>> = {},
): Config {
  const read = (name: SettingName): string =>
    flags[settings[name].flag] ?? env[settings[name].env] ?? settings[name].fallback
  const reading: Reading<SettingName> = {
    text: read,
    whole: (name, min, max) => readWhole(name, read(name), min, max),
    host: (name) => readHost(name, read(name)),
    bad,
  }
  const { whole, host } = reading
  const databaseUrl = read('databaseUrl')
  if (databaseUrl !== '' && !isPostgresUrl(databaseUrl)) throw bad('databaseUrl', 'must be a postgres:// address')
  const sandbox = read('sandbox')
  if (!['on', 'off'].includes(sandbox)) throw bad('sandbox', 'must be on or off')
  const log = logLevels.find((level) => level === read('log'))
  if (log === undefined) throw bad('log', `must be one of ${logLevels.join(', ')}`)
  const secretKey = read('secretKey')
  if (secretKey !== '' && !/^[0-9a-f]{64}$/i.test(secretKey)) throw bad('secretKey', 'must be 64 hexadecimal digits')
  const config = {
    host: host('host'),
    port: whole('port', 0, 65_535),
    folder: resolve(read('folder')),
    databaseUrl: givenOf(databaseUrl),
    databaseConnections: whole('databaseConnections', 2, 200),
    sandbox: sandbox === 'on',
    sandboxToken: readSandboxToken(read('sandboxToken')),
    secretKey: givenOf(secretKey),
    checkpointFile: read('checkpointFile') === '' ? undefined : resolve(read('checkpointFile')),
    checkpointUrl: readUrl('checkpointUrl', read('checkpointUrl')),
    gatewayHost: host('gatewayHost'),
    gatewayPort: whole('gatewayPort', 1, 65_535),
    gatewayAddress: readGatewayAddress(read('gatewayAddress'), read('gatewayHost')),
    premiumPorts: readRange('premiumPorts', read('premiumPorts')),
    premiumLeaseBytes: whole('premiumLeaseBytes', 65_536, 999_999_999),
    premiumWhitelist: whole('premiumWhitelist', 1, 10_000),
    premiumHostDays: whole('premiumHostDays', 1, 3650),
    readsPerMinute: whole('readsPerMinute', 0, 10_000_000),
    chargesPerMinute: whole('chargesPerMinute', 0, 10_000_000),
    customerTokens: whole('customerTokens', 1, 100_000),
    trustedProxies: readPrefixes(read('trustedProxies')),
    drainSeconds: whole('drainSeconds', 0, 300),
    localNodes: readLocalNodes(read('localNodes')),
    log,
    ...readBackupConfig(reading),
    ...readRetentionConfig(reading),
    ...readMetricsConfig(reading),
    ...readGatewayConfig(reading),
    ...readVpnConfig(reading),
    ...readTlsConfig(reading),
    ...readCorsConfig(reading),
    ...readConsoleConfig(reading),
  }
  return { ...config, publicUrl: readPublicUrl(config) }
}

/** A shop that serves TLS is reached over TLS; by the first name of its certificate, unless said otherwise. */
function readPublicUrl(config: Config): string | undefined {
  const { publicUrl, port, acmeNames, gatewayTlsPort, gatewayPort } = config
  if (gatewayTlsPort > 0 && gatewayTlsPort === gatewayPort) {
    throw bad('gatewayTlsPort', 'must be another port than TURNPIKE_GATEWAY_PORT')
  }
  if (isTls(config) && publicUrl?.startsWith('http:')) {
    throw bad('publicUrl', 'must begin with https://, for the shop serves TLS alone')
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

/**
 * Socket of the shop for nodes on this machine. Its folder is writable by the owner only, so no other program can
 * answer.
 */
export const shopSocket = (folder: string): string => join(joinFolder(folder), 'shop.sock')
export const localShopUrl = (config: Pick<Config, 'folder'>): string => `unix:${shopSocket(config.folder)}`

/** PostgreSQL's address, or the SQLite file in the data folder. */
export const databaseAddress = (config: Config): string => config.databaseUrl ?? join(config.folder, 'turnpike.db')

function readWhole(name: SettingName, text: string, min: number, max: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max)) throw bad(name, `must be a whole number from ${min} to ${max}`)
  return value
}

function readSandboxToken(text: string): string | undefined {
  if (text !== '' && !/^[\x21-\x7e]{8,200}$/.test(text))
    throw bad('sandboxToken', 'must be 8 to 200 visible characters')
  return givenOf(text)
}

function readUrl(name: SettingName, text: string): string | undefined {
  if (text === '') return undefined
  if (!/^https?:$/.test(URL.parse(text)?.protocol ?? '')) throw bad(name, 'must be an http or https address')
  return text
}

function readHost(name: SettingName, text: string): string {
  if (!/^[A-Za-z0-9.:_-]{1,255}$/.test(text)) throw bad(name, 'must be an address or a host name')
  return text
}

/** Defaults to the gateway's host. */
function readGatewayAddress(text: string, host: string): string {
  if (text === '') return host
  const address = readAddress(text)
  if (!address) throw bad('gatewayAddress', 'must be an IP address')
  return formatAddress(address)
}

function readRange(name: SettingName, text: string): { first: number; last: number } {
  const match = /^(\d{1,5})-(\d{1,5})$/.exec(text)
  const [first, last] = [Number(match?.[1] ?? 0), Number(match?.[2] ?? 0)]
  if (first < 1024 || last > 65_535 || last < first)
    throw bad(name, 'must be two ports from 1024 to 65535, like 20000-29999')
  return { first, last }
}

function readPrefixes(text: string): Prefix[] {
  return partsOf(text).map((part) => {
    const prefix = readPrefix(part)
    if (!prefix) throw bad('trustedProxies', `has "${part}", which is not an address or a prefix`)
    return prefix
  })
}

function readLocalNodes(text: string): LocalNode[] {
  return [...new Set(partsOf(text))].map((part) => {
    if (part === 'gateway' || part === 'vpn' || part === 'sandbox-vpn') return part
    throw bad('localNodes', 'must be gateway, vpn, sandbox-vpn, or several of them, separated by commas')
  })
}

function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\/[^\s]+$/.test(text) && URL.canParse(text)
}

/** The value is left out: it may hold a password. */
const bad = (name: SettingName, problem: string): BadSetting =>
  new BadSetting(`${settings[name].env} (--${settings[name].flag}) ${problem}.`)
