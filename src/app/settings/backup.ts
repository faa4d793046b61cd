import { resolve } from 'node:path'
import { type Reading, type Setting, setting } from './reading.ts'

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
