import type { Reading, Setting } from './reading.ts'

/** How long what tells of customers' doings is kept. */
export type RetentionConfig = {
  readonly keepSessionDays: number
  readonly keepSourceDays: number
  readonly keepHourDays: number
}

export const retentionSettings = {
  keepSessionDays: {
    env: 'TURNPIKE_KEEP_SESSION_DAYS',
    flag: 'keep-session-days',
    value: 'N',
    fallback: '30',
    meaning: 'how many days a browser’s session, with its address, and a link are kept after their end',
  },
  keepSourceDays: {
    env: 'TURNPIKE_KEEP_SOURCE_DAYS',
    flag: 'keep-source-days',
    value: 'N',
    fallback: '90',
    meaning:
      'how many days it is kept from where a token, and when a whitelisted address or a VPN device was last used',
  },
  keepHourDays: {
    env: 'TURNPIKE_KEEP_HOUR_DAYS',
    flag: 'keep-hour-days',
    value: 'N',
    fallback: '400',
    meaning: 'how many days premium traffic is kept by the hour; older traffic is kept by the month',
  },
} as const satisfies Record<keyof RetentionConfig, Setting>

export const readRetentionConfig = (reading: Reading<keyof RetentionConfig>): RetentionConfig => ({
  keepSessionDays: reading.whole('keepSessionDays', 1, 3650),
  keepSourceDays: reading.whole('keepSourceDays', 1, 3650),
  keepHourDays: reading.whole('keepHourDays', 40, 3650),
})
