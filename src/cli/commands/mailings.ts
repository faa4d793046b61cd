import * as mailings from '../../api/admin/mailings/shapes.ts'
import { type OperationCommand, over } from '../operation-command.ts'
import { rows } from '../print.ts'

export const mailingCommands: readonly OperationCommand[] = [
  over(mailings.countMailing, 'mailing count', {
    show: ({ customers, sample }) => [`${customers} customers`, ...(sample.length > 0 ? rows(sample) : [])],
  }),
  over(mailings.announcePrices, 'mailing price', {
    flags: { effective_at: 'at' },
    show: (data) => `The running shop sends ${data.mailing_id}. "turnpike mailing list" shows how far it is.`,
  }),
  over(mailings.listMailings, 'mailing list', {
    columns: 'mailing_id created_at kind product state customers effective_at',
  }),
  over(mailings.stopMailing, 'mailing stop', { show: (data) => `${data.mailing_id} is ${data.state}.` }),
]
