import { join, resolve } from 'node:path'
import { type LogLevel, logLevels } from '../../adapters/log.ts'
import { formatAddress, hostAndPort, type Prefix, readAddress, readPrefix } from '../../core/address.ts'
import type { NodeKind } from '../../domains/fleet/rules.ts'
import { type BackupConfig, backupSettings, readBackupConfig } from './backup.ts'
import { type ConsoleConfig, consoleSettings, readConsoleConfig } from './console.ts'
import { type CorsConfig, corsSettings, readCorsConfig } from './cors.ts'
import { type GatewayConfig, gatewaySettings, readGatewayConfig } from './gateway.ts'
import { type MetricsConfig, metricsSettings, readMetricsConfig } from './metrics.ts'
import { BadSetting, givenOf, partsOf, type Reading, type Setting } from './reading.ts'
import { type RetentionConfig, readRetentionConfig, retentionSettings } from './retention.ts'
import { isTls, readTlsConfig, type TlsConfig, tlsSettings } from './tls.ts'
import { readVpnConfig, type VpnConfig, vpnSettings } from './vpn.ts'

/** A node on the shop's machine: of this kind, or a VPN node if the shop is a sandbox. */
type LocalNode = NodeKind | 'sandbox-vpn'

/** Everything that an operator can set, read and checked. */
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
  host: {
    env: 'TURNPIKE_HOST',
    flag: 'host',
    value: 'ADDRESS',
    fallback: '127.0.0.1',
    meaning: 'where the shop listens',
  },
  port: { env: 'TURNPIKE_PORT', flag: 'port', value: 'PORT', fallback: '8080', meaning: 'on which port' },
  folder: {
    env: 'TURNPIKE_DATA',
    flag: 'data',
    value: 'FOLDER',
    fallback: './data',
    meaning: 'where the shop keeps its files',
  },
  databaseUrl: {
    env: 'TURNPIKE_DATABASE_URL',
    flag: 'database-url',
    value: 'URL',
    fallback: '',
    meaning: 'postgres://… for PostgreSQL; SQLite in the data folder without it',
  },
  databaseConnections: {
    env: 'TURNPIKE_DATABASE_CONNECTIONS',
    flag: 'database-connections',
    value: 'N',
    fallback: '12',
    meaning: 'how many connections a shop has to PostgreSQL; past its cores more only wait for one another',
  },
  sandbox: {
    env: 'TURNPIKE_SANDBOX',
    flag: 'sandbox',
    value: 'on|off',
    fallback: 'on',
    meaning: 'whether an empty database opens as a sandbox',
  },
  sandboxToken: {
    env: 'TURNPIKE_SANDBOX_TOKEN',
    flag: 'sandbox-token',
    value: 'TOKEN',
    fallback: '',
    meaning: "fixes the sandbox customer's token, for scripts (8 to 200 visible characters)",
  },
  secretKey: {
    env: 'TURNPIKE_SECRET_KEY',
    flag: 'secret-key',
    value: 'HEX',
    fallback: '',
    meaning: 'the key that passwords are sealed with, 64 hexadecimal digits; else secret.key in the data folder',
  },
  checkpointFile: {
    env: 'TURNPIKE_CHECKPOINT_FILE',
    flag: 'checkpoint-file',
    value: 'FILE',
    fallback: '',
    meaning: 'a file that every checkpoint is appended to; best where this machine can append and not change',
  },
  checkpointUrl: {
    env: 'TURNPIKE_CHECKPOINT_URL',
    flag: 'checkpoint-url',
    value: 'URL',
    fallback: '',
    meaning: 'an http(s) address that every checkpoint is sent to',
  },
  ...backupSettings,
  ...tlsSettings,
  ...retentionSettings,
  gatewayHost: {
    env: 'TURNPIKE_GATEWAY_HOST',
    flag: 'gateway-host',
    value: 'ADDRESS',
    fallback: '127.0.0.1',
    meaning: 'where customers reach the gateway',
  },
  gatewayPort: {
    env: 'TURNPIKE_GATEWAY_PORT',
    flag: 'gateway-port',
    value: 'PORT',
    fallback: '10800',
    meaning: 'on which port, HTTP and SOCKS5 alike',
  },
  gatewayAddress: {
    env: 'TURNPIKE_GATEWAY_ADDRESS',
    flag: 'gateway-address',
    value: 'ADDRESS',
    fallback: '',
    meaning: "the gateway's IP address, where its host is a name; for lists of proxies by address",
  },
  premiumPorts: {
    env: 'TURNPIKE_PREMIUM_PORTS',
    flag: 'premium-ports',
    value: 'FIRST-LAST',
    fallback: '20000-29999',
    meaning: 'ports of the gateway that are given to whitelisted customers',
  },
  premiumLeaseBytes: {
    env: 'TURNPIKE_PREMIUM_LEASE_BYTES',
    flag: 'premium-lease-bytes',
    value: 'N',
    fallback: '8388608',
    meaning: 'how many bytes a node may carry for a sub-user before it asks again',
  },
  premiumWhitelist: {
    env: 'TURNPIKE_PREMIUM_WHITELIST',
    flag: 'premium-whitelist',
    value: 'N',
    fallback: '100',
    meaning: 'how many addresses a sub-user may whitelist',
  },
  premiumHostDays: {
    env: 'TURNPIKE_PREMIUM_HOST_DAYS',
    flag: 'premium-host-days',
    value: 'N',
    fallback: '30',
    meaning: 'how many days destination hosts are kept',
  },
  readsPerMinute: {
    env: 'TURNPIKE_RATE_READS',
    flag: 'rate-reads',
    value: 'N',
    fallback: '1200',
    meaning: 'requests a minute and token that do not charge, five times as many a customer; 0 is no limit',
  },
  chargesPerMinute: {
    env: 'TURNPIKE_RATE_CHARGES',
    flag: 'rate-charges',
    value: 'N',
    fallback: '300',
    meaning: 'requests a minute and token that charge, five times as many a customer; 0 is no limit',
  },
  customerTokens: {
    env: 'TURNPIKE_CUSTOMER_TOKENS',
    flag: 'customer-tokens',
    value: 'N',
    fallback: '100',
    meaning: 'how many tokens of a customer may be open at once',
  },
  trustedProxies: {
    env: 'TURNPIKE_TRUSTED_PROXIES',
    flag: 'trusted-proxies',
    value: 'PREFIXES',
    fallback: '',
    meaning: 'reverse proxies whose X-Forwarded-For is believed, separated by commas',
  },
  ...corsSettings,
  drainSeconds: {
    env: 'TURNPIKE_DRAIN_SECONDS',
    flag: 'drain-seconds',
    value: 'N',
    fallback: '0',
    meaning: 'how long a shop that is told to stop still serves while /readyz says no, for a balancer to notice',
  },
  ...gatewaySettings,
  localNodes: {
    env: 'TURNPIKE_LOCAL_NODES',
    flag: 'local-nodes',
    value: 'KINDS',
    fallback: '',
    meaning:
      'nodes on this machine that the shop lets join by itself: gateway, vpn, or gateway,vpn; ' +
      'sandbox-vpn is vpn in a sandbox alone, which up adds by itself where nothing is set and the machine allows it',
  },
  ...vpnSettings,
  ...consoleSettings,
  ...metricsSettings,
  log: { env: 'TURNPIKE_LOG', flag: 'log', value: 'LEVEL', fallback: 'info', meaning: logLevels.join(', ') },
} as const satisfies Record<keyof Config, Setting>

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

/** What listens on every address is reached on this machine by loopback. */
const loopbackOf: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** Where the shop listens. A port of 0 is any that is free, so whoever has opened one says which. */
export const listenUrl = (config: Config, port = config.port): string =>
  `${isTls(config) ? 'https' : 'http'}://${hostAndPort(loopbackOf[config.host] ?? config.host, port)}`

/** Where the shop is reached: by customers and nodes alike, unless the operator says otherwise. */
export const shopUrl = (config: Config): string => config.publicUrl ?? listenUrl(config)

/** What a shop and nodes on its machine share: keys to join with, and the socket that they meet at. */
export const joinFolder = (folder: string): string => join(folder, 'join')

/** Where a node on the shop's machine finds the key that it may join with. */
export const joinKeyFile = (folder: string, kind: NodeKind): string => join(joinFolder(folder), `${kind}.key`)

/**
 * Where nodes of this machine meet the shop: in a folder that nobody else may write to, so that whoever answers is the
 * shop. Anybody can take a port that is free for a moment.
 */
export const shopSocket = (folder: string): string => join(joinFolder(folder), 'shop.sock')
export const localShopUrl = (config: Pick<Config, 'folder'>): string => `unix:${shopSocket(config.folder)}`

/** Where the shop's rows are: PostgreSQL's address, or the SQLite file in the data folder. */
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

/** Without an address of its own the gateway's host stands in both lists, whatever it is. */
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

/** The value itself is left out: it may hold a password. */
const bad = (name: SettingName, problem: string): BadSetting =>
  new BadSetting(`${settings[name].env} (--${settings[name].flag}) ${problem}.`)
