import { noticeKinds, noticeLanguages } from '../../../domains/notices/rules.ts'
import { choice, flag, text, whole } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'

const operation = operationsOf({ tag: 'Account' })

const kinds = () =>
  z.array(z.enum(noticeKinds)).openapi({
    description:
      '`expiry`: services that end in 7, 3 or 1 days or have ended, and refused renewals; `balance`: the balance is ' +
      'below the one of `POST /balance/alert`; `traffic`: 80, 95 or 100 % are used; `receipt`: orders, payments and ' +
      'refunds; `price`: announced prices; `message`: messages of the seller.',
    example: ['expiry', 'balance', 'message'],
  })

const shown = z.object({
  kinds: kinds(),
  language: choice('Language of the letters; null if none was chosen.', noticeLanguages, 'en').nullable(),
  address: text(
    'E-mail address of the account, which the letters go to; null without one.',
    'anna@example.com',
  ).nullable(),
  available: flag('Whether this shop sends e-mail.', true),
  per_day: whole('Letters that you get in a day (UTC), at most.', 5),
})

export const getNotices = operation('getNotices', 'GET /notices', {
  summary: 'Read which notices you get by e-mail',
  answer: shown,
})

export const setNotices = operation('setNotices', 'POST /notices', {
  summary: 'Choose which notices you get by e-mail',
  description:
    'Events of 2 minutes that belong together come in one letter. Every letter has a link that ends its kind. Until ' +
    'you choose, you get messages of the seller only.',
  body: z.object({
    kinds: kinds(),
    language: choice('Language of the letters.', noticeLanguages, 'en'),
  }),
  exampleBody: { kinds: ['expiry', 'balance', 'message'], language: 'en' },
  answer: shown,
  codes: ['conflict'],
})
