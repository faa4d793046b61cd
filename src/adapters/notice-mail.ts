import type { NoticeMail } from '../domains/notices/ports.ts'
import type { Mail } from '../domains/signin/ports.ts'

/** Letters with the headers by which mail programs unsubscribe with one click (RFC 8058). */
export const createNoticeMail = (
  mail: Pick<Mail, 'send'> | undefined,
  siteUrl: () => string = () => '',
): NoticeMail | undefined =>
  mail && {
    send: ({ unsubscribeUrl, ...letter }) =>
      mail.send({
        ...letter,
        messageId: `<${letter.id}@${URL.parse(siteUrl())?.hostname ?? 'localhost'}>`,
        headers: {
          'List-Unsubscribe': `<${unsubscribeUrl}>`,
          'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
          'Auto-Submitted': 'auto-generated',
        },
      }),
  }
