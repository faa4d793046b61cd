import { toIso } from '../../../core/time.ts'
import { audienceProducts, type Mailing, mailingKinds, mailingStates } from '../../../domains/notices/rules.ts'
import { bodyInteger, choice, given, isoOrNull, list, moment, named, rows, text, whole } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'
import { exampleCustomer, instant, printableText } from '../fields.ts'

const owner = operationsOf({ tag: 'Mailings', role: 'owner' })
const reader = operationsOf({ tag: 'Mailings', role: 'reader' })

const exampleMailing = 'mlg_01k73sf8000000000000000000'
/** An event holds both texts. */
const maxNoteCharacters = 500
const maxSubject = 200
const maxMessage = 10_000

const audience = {
  product: choice('Only customers with running services of this product.', audienceProducts).optional(),
  ends_within_days: bodyInteger({
    min: 1,
    max: 365,
    example: 7,
    description: 'Only customers with a service that ends within so many days.',
  }).optional(),
  node: given(
    'Only customers with a proxy that this gateway serves, or a VPN device at the location of this VPN node.',
    100,
  ).optional(),
}
export type SentAudience = {
  readonly product?: (typeof audienceProducts)[number] | undefined
  readonly ends_within_days?: number | undefined
  readonly node?: string | undefined
}

const mailing = named('Mailing', {
  mailing_id: text('Its id.', exampleMailing),
  kind: choice('`price`: an announcement of prices, sent as event `price.announced`.', mailingKinds, 'price'),
  product: choice('The product whose customers get it; null for all.', audienceProducts).nullable(),
  ends_within_days: whole('Days within which a service of its customers ends; null for any.').nullable(),
  node: text('Id of the node that serves its customers; null for any.').nullable(),
  state: choice('`walking`: not all customers have it yet.', mailingStates, 'walking'),
  customers: whole('Customers who have it so far.', 0),
  effective_at: moment('When announced prices change; null for others.').nullable(),
  subject_en: text('Subject of a message in English; null without one.').nullable(),
  text_en: text('Text in English; null without one.').nullable(),
  subject_ru: text('Subject of a message in Russian; null without one.').nullable(),
  text_ru: text('Text in Russian; null without one.').nullable(),
  created_at: moment('Time of creation.'),
})

export const toMailing = (of: Mailing): z.input<typeof mailing> => ({
  mailing_id: of.id,
  kind: of.kind,
  product: of.product,
  ends_within_days: of.endsWithinDays,
  node: of.node,
  state: of.state,
  customers: of.customers,
  effective_at: isoOrNull(of.effectiveAt),
  subject_en: of.subjectEn,
  text_en: of.textEn,
  subject_ru: of.subjectRu,
  text_ru: of.textRu,
  created_at: toIso(of.createdAt),
})

export const countMailing = reader('countMailing', 'POST /mailings/count', {
  summary: 'Count the customers that a mailing would reach now',
  isRead: true,
  body: z.object(audience),
  answer: z.object({
    customers: whole('Number of customers.', 42),
    no_address: whole('Those without an e-mail address, whom a message does not reach.', 5),
    unsubscribed: whole('Those who unsubscribed from messages, whom a message does not reach.', 1),
    sample: rows('The first 10 of them.', {
      customer_id: text('The customer’s id.', exampleCustomer),
      name: text('Name of the customer.', 'Anna'),
    }),
  }),
  codes: ['not_found'],
})

const note = (language: string, example: string) =>
  given(`What changes, in ${language}. One of the texts is required.`, maxNoteCharacters, example).optional()

export const announcePrices = owner('announcePrices', 'POST /price-announcements', {
  summary: 'Announce to customers that prices change at a later time',
  description:
    'Every customer of the audience gets the event `price.announced`, by `GET /events` and webhooks. No price ' +
    'changes: `applyCatalogue` does that when the time has come.',
  creates: true,
  body: z.object({
    effective_at: instant('When the prices change; in the future.'),
    ...audience,
    text_en: note('English', 'A month of VPN costs 349 roubles from 1 March.'),
    text_ru: note('Russian', 'С 1 марта месяц VPN стоит 349 рублей.'),
  }),
  exampleBody: {
    effective_at: '2027-03-01T00:00:00Z',
    product: 'vpn',
    text_ru: 'С 1 марта месяц VPN стоит 349 рублей.',
  },
  answer: mailing,
  codes: ['not_found'],
})

const subject = (language: string, example: string) =>
  printableText(`Subject in ${language}.`, maxSubject, example).optional()
const message = (language: string, example: string) =>
  given(
    `Text in ${language}. A text needs its subject; one of the languages is required.`,
    maxMessage,
    example,
  ).optional()

export const sendMailing = owner('sendMailing', 'POST /mailings', {
  summary: 'Send a message by e-mail to all or some customers',
  description:
    'Customers get it in the language that they chose for notices, in the only one that it has, or in both. ' +
    'Customers without an e-mail address and those who unsubscribed from messages get none. ' +
    '`countMailing` shows whom it would reach. It counts into the letters of a day (`TURNPIKE_NOTICES_PER_DAY`).',
  creates: true,
  body: z.object({
    ...audience,
    subject_en: subject('English', 'Maintenance on 1 March'),
    text_en: message('English', 'On 1 March the gateways in Germany restart.'),
    subject_ru: subject('Russian', 'Работы 1 марта'),
    text_ru: message('Russian', '1 марта перезапускаются шлюзы в Германии.'),
  }),
  exampleBody: { subject_en: 'Maintenance on 1 March', text_en: 'On 1 March the gateways in Germany restart.' },
  answer: mailing,
  codes: ['not_found', 'conflict'],
})

export const getMailing = reader('getMailing', 'GET /mailings/{mailing_id}', {
  summary: 'Show a mailing and what became of its letters',
  params: z.object({ mailing_id: text('The mailing’s id.', exampleMailing) }),
  answer: z.object({
    ...mailing.shape,
    waiting: whole('Letters that wait: for their turn, for another attempt, or for the next day of the customer.', 10),
    sent: whole('Letters that the mail server took.', 30),
    failed: whole('Letters that the mail server refused, or did not take for 2 days.', 1),
    unsubscribed: whole('Customers who unsubscribed from messages, or were blocked.', 1),
    no_address: whole('Customers without an e-mail address.', 0),
  }),
  codes: ['not_found'],
})

export const listMailings = reader('listMailings', 'GET /mailings', {
  summary: 'List mailings to customers, newest first',
  query: z.object(pageQuery),
  answer: page({ items: list('One page of mailings.', mailing) }),
})

export const stopMailing = owner('stopMailing', 'POST /mailings/{mailing_id}/stop', {
  summary: 'Stop a mailing: customers who did not get it yet do not get it',
  isDestructive: true,
  params: z.object({ mailing_id: text('The mailing’s id.', exampleMailing) }),
  answer: mailing,
  codes: ['not_found'],
})
