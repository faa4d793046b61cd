import { noticeKinds, noticeLanguages } from '../../../domains/notices/rules.ts'
import { choice, given, items, list, moment, text } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { printableText } from '../fields.ts'

const owner = operationsOf({ tag: 'Mailings', role: 'owner' })
const reader = operationsOf({ tag: 'Mailings', role: 'reader' })

const maxSubject = 200
const maxText = 10_000

const place = {
  kind: choice('Kind of letters, as customers choose them.', noticeKinds, 'expiry'),
  language: choice('Language.', noticeLanguages, 'en'),
}
const subject = () => printableText('Subject, with placeholders in braces.', maxSubject, 'Services end soon')
const letter = () =>
  given('Text, with placeholders in braces.', maxText, '{items}\n\nStop these letters: {unsubscribe_url}\n')

const template = {
  ...place,
  subject: text('Subject, with placeholders in braces.', 'Services end soon'),
  text: text('Text, with placeholders in braces.', '{items}\n\nStop these letters: {unsubscribe_url}\n'),
  changed_at: moment('When an operator changed it; null for the shipped text.').nullable(),
  placeholders: list('Placeholders that the kind knows.', text('Name.', 'items')),
}

export const listNoticeTemplates = reader('listNoticeTemplates', 'GET /notice-templates', {
  summary: 'List subjects and texts of letters to customers',
  answer: items('One for each kind and language.', template),
})

export const setNoticeTemplate = owner('setNoticeTemplate', 'POST /notice-templates/{kind}/{language}', {
  summary: 'Change subject and text of a kind of letters',
  description:
    'A text must have `{unsubscribe_url}`, and `{items}` or, of messages, `{message}`. Letters that wait are sent ' +
    'with the new text.',
  params: z.object(place),
  body: z.object({ subject: subject(), text: letter() }),
  answer: z.object(template),
})

export const resetNoticeTemplate = owner('resetNoticeTemplate', 'POST /notice-templates/{kind}/{language}/reset', {
  summary: 'Bring the shipped subject and text of a kind of letters back',
  isDestructive: true,
  params: z.object(place),
  answer: z.object(template),
})

export const previewNoticeTemplate = reader(
  'previewNoticeTemplate',
  'POST /notice-templates/{kind}/{language}/preview',
  {
    summary: 'Show a letter with sample values; a field that is left out is the one in force',
    isRead: true,
    params: z.object(place),
    body: z.object({ subject: subject().optional(), text: letter().optional() }),
    answer: z.object({
      subject: text('The subject.', 'Services end soon'),
      text: text('The text.', 'Proxy 7 (203.0.113.7) ends on March 1, 2027 at 9:00 AM UTC.'),
    }),
  },
)
