import * as mailings from '../../api/admin/mailings/shapes.ts'
import * as notices from '../../api/admin/notices/shapes.ts'
import { type OperationCommand, over } from '../operation-command.ts'
import { rows } from '../print.ts'

type Letter = { readonly subject: string; readonly text: string }
const showLetter = ({ subject, text }: Letter): string[] => [subject, '', ...text.split('\n')]

export const mailingCommands: readonly OperationCommand[] = [
  over(mailings.countMailing, 'mailing count', {
    show: ({ customers, no_address: none, unsubscribed, sample }) => [
      `${customers} customers, ${none} without an e-mail address, ${unsubscribed} unsubscribed from messages`,
      ...(sample.length > 0 ? rows(sample) : []),
    ],
  }),
  over(mailings.announcePrices, 'mailing price', {
    flags: { effective_at: 'at' },
    show: (data) => `The running shop sends ${data.mailing_id}. "turnpike mailing list" shows how far it is.`,
  }),
  over(mailings.sendMailing, 'mailing send', {
    show: (data) => `The running shop sends ${data.mailing_id}. "turnpike mailing show" shows how far it is.`,
  }),
  over(mailings.getMailing, 'mailing show'),
  over(mailings.listMailings, 'mailing list', {
    columns: 'mailing_id created_at kind product state customers effective_at',
  }),
  over(mailings.stopMailing, 'mailing stop', { show: (data) => `${data.mailing_id} is ${data.state}.` }),
  over(notices.listNoticeTemplates, 'notice templates', { columns: 'kind language subject changed_at' }),
  over(notices.setNoticeTemplate, 'notice set', { show: showLetter }),
  over(notices.resetNoticeTemplate, 'notice reset', { show: showLetter }),
  over(notices.previewNoticeTemplate, 'notice preview', { show: showLetter }),
]
