import { type Reading, type Setting, setting } from './reading.ts'

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
