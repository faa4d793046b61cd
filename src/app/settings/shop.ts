import { resolve } from 'node:path'
import { givenOf, partsOf, type Reading, type Setting, setting } from './reading.ts'

export type BackupConfig = Readonly<ReturnType<typeof readBackupConfig>>

export const backupSettings = {
  backupFolder: setting(
    'TURNPIKE_BACKUP_FOLDER',
    'FOLDER',
    '',
    'where the shop writes backups of itself, each a folder; best a mount of another machine',
  ),
  backupHours: setting('TURNPIKE_BACKUP_HOURS', 'N', '24', 'how many hours lie between two of them'),
  backupKeep: setting('TURNPIKE_BACKUP_KEEP', 'N', '14', 'how many of them are kept; older ones are deleted'),
  backupKey: setting(
    'TURNPIKE_BACKUP_KEY',
    'on|off',
    'on',
    'whether the key that passwords are sealed with lies with a backup, in a file of its own',
  ),
} satisfies Record<string, Setting>

export function readBackupConfig(reading: Reading<keyof typeof backupSettings>) {
  const folder = reading.text('backupFolder')
  const key = reading.text('backupKey')
  if (!['on', 'off'].includes(key)) throw reading.bad('backupKey', 'must be on or off')
  return {
    backupFolder: folder === '' ? undefined : resolve(folder),
    backupHours: reading.whole('backupHours', 1, 8760),
    backupKeep: reading.whole('backupKeep', 1, 10_000),
    backupKey: key === 'on',
  }
}

export type ConsoleConfig = Readonly<ReturnType<typeof readConsoleConfig>>

export const consoleSettings = {
  registration: setting(
    'TURNPIKE_REGISTRATION',
    'on|off|unconfirmed',
    'off',
    'whether customers may sign up by themselves; unconfirmed, where no letters prove that an address is theirs',
  ),
  smtpUrl: setting(
    'TURNPIKE_SMTP_URL',
    'URL',
    '',
    'smtp://user:password@host:port or smtps://…, through which letters to customers are sent; none without it',
  ),
  mailFrom: setting('TURNPIKE_MAIL_FROM', 'ADDRESS', 'turnpike@localhost', 'whom letters to customers are from'),
} satisfies Record<string, Setting>

export function readConsoleConfig({ text, bad }: Reading<keyof typeof consoleSettings>) {
  const registration = (['off', 'on', 'unconfirmed'] as const).find((each) => each === text('registration'))
  if (registration === undefined) throw bad('registration', 'must be on, off or unconfirmed')
  const smtpUrl = text('smtpUrl')
  if (smtpUrl !== '' && !/^smtps?:$/.test(URL.parse(smtpUrl)?.protocol ?? '')) {
    throw bad('smtpUrl', 'must be an smtp:// or smtps:// address')
  }
  const mailFrom = text('mailFrom')
  if (!/^[^\s@\p{Cc}]{1,64}@[^\s@\p{Cc}]{1,190}$/u.test(mailFrom)) throw bad('mailFrom', 'must be an e-mail address')
  return { registration, smtpUrl: givenOf(smtpUrl), mailFrom }
}

export type CorsConfig = { readonly corsOrigins: readonly string[] }

export const corsSettings = {
  corsOrigins: setting(
    'TURNPIKE_CORS_ORIGINS',
    'ORIGINS',
    '',
    'origins whose pages may call the customer API with a token, like https://app.example, with commas; none',
  ),
} satisfies Record<keyof CorsConfig, Setting>

/** Origins are compared exactly, so each must be written as a browser sends it. */
export function readCorsConfig({ text, bad }: Reading<keyof typeof corsSettings>): CorsConfig {
  const corsOrigins = partsOf(text('corsOrigins'))
  const wrong = corsOrigins.findIndex((each) => !/^https?:[^*]+$/.test(each) || URL.parse(each)?.origin !== each)
  if (wrong >= 0) {
    throw bad(
      'corsOrigins',
      `has no origin in place ${wrong + 1}: give each as a browser sends it, like https://app.example or ` +
        'http://localhost:3000, in lower case, without a path, a default port or *',
    )
  }
  return { corsOrigins }
}

export type MetricsConfig = { readonly metricsListen: { readonly host: string; readonly port: number } | undefined }

export const metricsSettings = {
  metricsListen: setting(
    'TURNPIKE_METRICS_LISTEN',
    'ADDRESS:PORT',
    '127.0.0.1:9464',
    "where the shop's figures are at /metrics; a gateway's are on the next port, a VPN node's on the one after it; " +
      'empty is nowhere',
  ),
} satisfies Record<keyof MetricsConfig, Setting>

/** The other roles use the next two ports. */
const lastPort = 65_533

export function readMetricsConfig(reading: Reading<keyof MetricsConfig>): MetricsConfig {
  const text = reading.text('metricsListen')
  if (text === '') return { metricsListen: undefined }
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]{1,255})):(\d{1,5})$/.exec(text)
  const port = Number(match?.[3] ?? 0)
  if (!match || port < 1 || port > lastPort) {
    throw reading.bad('metricsListen', `must be an address and a port up to ${lastPort}, like 127.0.0.1:9464`)
  }
  return { metricsListen: { host: match[1] ?? match[2] ?? '', port } }
}

export type RetentionConfig = Readonly<ReturnType<typeof readRetentionConfig>>

export const retentionSettings = {
  keepSessionDays: setting(
    'TURNPIKE_KEEP_SESSION_DAYS',
    'N',
    '30',
    'how many days a browser’s session, with its address, and a link are kept after their end',
  ),
  keepSourceDays: setting(
    'TURNPIKE_KEEP_SOURCE_DAYS',
    'N',
    '90',
    'how many days it is kept from where a token, and when a whitelisted address or a VPN device was last used',
  ),
  keepHourDays: setting(
    'TURNPIKE_KEEP_HOUR_DAYS',
    'N',
    '400',
    'how many days premium traffic is kept by the hour; older traffic is kept by the month',
  ),
} satisfies Record<string, Setting>

export const readRetentionConfig = (reading: Reading<keyof typeof retentionSettings>) => ({
  keepSessionDays: reading.whole('keepSessionDays', 1, 3650),
  keepSourceDays: reading.whole('keepSourceDays', 1, 3650),
  keepHourDays: reading.whole('keepHourDays', 40, 3650),
})
