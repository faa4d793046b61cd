import { givenOf, type Reading, type Setting, setting } from './reading.ts'

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

type Name = keyof typeof consoleSettings

export function readConsoleConfig({ text, bad }: Reading<Name>) {
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
