import { resolve } from 'node:path'
import type { Reading, Setting } from './reading.ts'

/** When the shop backs itself up, and how much of that is kept. */
export type BackupConfig = {
  readonly backupFolder: string | undefined
  readonly backupHours: number
  readonly backupKeep: number
  readonly backupKey: boolean
}

export const backupSettings = {
  backupFolder: {
    env: 'TURNPIKE_BACKUP_FOLDER',
    flag: 'backup-folder',
    value: 'FOLDER',
    fallback: '',
    meaning: 'where the shop writes backups of itself, each a folder; best a mount of another machine',
  },
  backupHours: {
    env: 'TURNPIKE_BACKUP_HOURS',
    flag: 'backup-hours',
    value: 'N',
    fallback: '24',
    meaning: 'how many hours lie between two of them',
  },
  backupKeep: {
    env: 'TURNPIKE_BACKUP_KEEP',
    flag: 'backup-keep',
    value: 'N',
    fallback: '14',
    meaning: 'how many of them are kept; older ones are deleted',
  },
  backupKey: {
    env: 'TURNPIKE_BACKUP_KEY',
    flag: 'backup-key',
    value: 'on|off',
    fallback: 'on',
    meaning: 'whether the key that passwords are sealed with lies with a backup, in a file of its own',
  },
} as const satisfies Record<keyof BackupConfig, Setting>

export function readBackupConfig(reading: Reading<keyof BackupConfig>): BackupConfig {
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
