import type { CustomerId, LetterId, MailingId } from '../../core/ids.ts'
import {
  type Column,
  columnsOf,
  idColumn,
  int,
  oneOf,
  orNull,
  textColumn,
  textList,
  valuesOf,
} from '../../db/columns.ts'
import { changesOne, list, sendRows } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import {
  letterStates,
  type NoticeChoices,
  type NoticeKind,
  type NoticeLanguage,
  type NoticeLetter,
  noticeKinds,
  noticeLanguages,
} from './rules.ts'

const isKind = (text: string): text is NoticeKind => noticeKinds.some((each) => each === text)

const kinds = textList('kinds')
const choices = columnsOf<NoticeChoices>({
  customer: idColumn('customer_id'),
  kinds: { ...kinds, read: (value) => kinds.read(value).filter(isKind) },
  language: oneOf('language', noticeLanguages),
  doneSeq: int('done_seq'),
  changedAt: int('changed_at'),
})

const numbers = textList('events')
const eventNumbers: Column<readonly number[]> = {
  name: 'events',
  read: (value) => numbers.read(value).map(Number),
  write: (of) => of.join(' '),
}

const letters = columnsOf<NoticeLetter>({
  id: idColumn('id'),
  customer: idColumn('customer_id'),
  kind: oneOf('kind', noticeKinds),
  mailing: orNull(idColumn('mailing_id')),
  events: eventNumbers,
  more: int('more'),
  state: oneOf('state', letterStates),
  tries: int('tries'),
  nextAt: int('next_at'),
  lease: textColumn('lease'),
  leaseUntil: int('lease_until'),
  createdAt: int('created_at'),
  endedAt: orNull(int('ended_at')),
})

export const findChoices = (reader: Reader, customer: CustomerId): Promise<NoticeChoices | undefined> =>
  choices.first(reader, 'SELECT * FROM notice_choices WHERE customer_id = $1', [customer])

/** Locks a customer's choices, so that each event is collected once. */
export const lockChoices = (tx: Tx, customer: CustomerId): Promise<NoticeChoices | undefined> =>
  choices.first(tx, 'SELECT * FROM notice_choices WHERE customer_id = $1 FOR UPDATE', [customer])

export const insertChoices = (tx: Tx, of: NoticeChoices): Promise<number> =>
  tx.run(
    `INSERT INTO notice_choices (${choices.names}) VALUES (${list(5)}) ON CONFLICT (customer_id) DO NOTHING`,
    choices.values(of),
  )

export const updateChoices = (tx: Tx, of: NoticeChoices): void =>
  tx.send('UPDATE notice_choices SET kinds = $2, language = $3, changed_at = $4 WHERE customer_id = $1', [
    of.customer,
    of.kinds.join(' '),
    of.language,
    of.changedAt,
  ])

export const setDone = (tx: Tx, customer: CustomerId, doneSeq: number): void =>
  tx.send('UPDATE notice_choices SET done_seq = $2 WHERE customer_id = $1', [customer, doneSeq])

/** Customers with events that are not collected yet. */
export const findUncollected = (reader: Reader, limit: number): Promise<CustomerId[]> =>
  valuesOf(idColumn<CustomerId>('customer_id')).all(
    reader,
    `SELECT notice_choices.customer_id FROM notice_choices
     JOIN event_numbers ON event_numbers.customer_id = notice_choices.customer_id
     WHERE notice_choices.done_seq < event_numbers.last ORDER BY notice_choices.customer_id LIMIT $1`,
    [limit],
  )

export const insertLetters = (tx: Tx, of: readonly NoticeLetter[], onConflict = ''): void =>
  sendRows(tx, `INSERT INTO notice_letters (${letters.names})`, of.map(letters.values), onConflict)

/** The letter of a kind that no shop has tried yet, locked. */
export const lockUntried = (
  tx: Tx,
  customer: CustomerId,
  kind: NoticeKind,
  nowMs: number,
): Promise<NoticeLetter | undefined> =>
  letters.first(
    tx,
    `SELECT * FROM notice_letters WHERE customer_id = $1 AND kind = $2 AND mailing_id IS NULL AND state = 'waiting'
       AND tries = 0 AND lease_until <= $3 ORDER BY id LIMIT 1 FOR UPDATE`,
    [customer, kind, nowMs],
  )

export const setEvents = (tx: Tx, of: Pick<NoticeLetter, 'id' | 'events' | 'more'>): void =>
  tx.send('UPDATE notice_letters SET events = $2, more = $3 WHERE id = $1', [of.id, of.events.join(' '), of.more])

/** Letters that are due and that no shop sends, locked; those that another shop looks at are left out. */
export const lockDue = (tx: Tx, nowMs: number, limit: number): Promise<NoticeLetter[]> =>
  letters.all(
    tx,
    `SELECT * FROM notice_letters WHERE state = 'waiting' AND next_at <= $1 AND lease_until <= $1
     ORDER BY next_at, id LIMIT $2 FOR UPDATE SKIP LOCKED`,
    [nowMs, limit],
  )

export const takeLetter = (tx: Tx, id: LetterId, lease: string, leaseUntil: number): void =>
  tx.send('UPDATE notice_letters SET lease = $2, lease_until = $3, tries = tries + 1 WHERE id = $1', [
    id,
    lease,
    leaseUntil,
  ])

export const postpone = (tx: Tx, id: LetterId, nextAt: number): void =>
  tx.send('UPDATE notice_letters SET next_at = $2 WHERE id = $1', [id, nextAt])

/** Counts a letter of a day; false if the customer has got as many as one gets. */
export const takeDay = (tx: Tx, customer: CustomerId, day: number, max: number): Promise<boolean> =>
  changesOne(
    tx,
    `INSERT INTO notice_days (customer_id, day, letters) VALUES ($1, $2, 1)
     ON CONFLICT (customer_id) DO UPDATE
       SET letters = CASE WHEN notice_days.day = $2 THEN notice_days.letters + 1 ELSE 1 END, day = $2
       WHERE notice_days.day <> $2 OR notice_days.letters < $3`,
    [customer, day, max],
  )

export const endLetter = (tx: Tx, id: LetterId, state: NoticeLetter['state'], nowMs: number): void =>
  tx.send(`UPDATE notice_letters SET state = $2, ended_at = $3 WHERE id = $1 AND state = 'waiting'`, [id, state, nowMs])

type Outcome = Pick<NoticeLetter, 'id' | 'lease' | 'state' | 'nextAt' | 'endedAt'>

/** Writes the outcome of an attempt, unless the lease ended and another shop has the letter. */
export const writeOutcome = (tx: Tx, of: Outcome): Promise<number> =>
  tx.run(
    `UPDATE notice_letters SET state = $3, next_at = $4, ended_at = $5, lease = '', lease_until = 0
     WHERE id = $1 AND lease = $2 AND state = 'waiting'`,
    [of.id, of.lease, of.state, of.nextAt, of.endedAt],
  )

/** Deletes the letters of a mailing that no shop is sending. */
export const deleteWaiting = (tx: Tx, mailing: MailingId, nowMs: number): Promise<number> =>
  tx.run(`DELETE FROM notice_letters WHERE mailing_id = $1 AND state = 'waiting' AND lease_until <= $2`, [
    mailing,
    nowMs,
  ])

/** Deletes at most `limit` letters made before a moment, and adds them to the counts of their mailings. */
export async function deleteLetters(tx: Tx, before: number, limit: number): Promise<number> {
  const gone = await tx.all<{ mailing_id: string | null; state: string }>(
    `DELETE FROM notice_letters WHERE id IN
       (SELECT id FROM notice_letters WHERE created_at <= $1 AND state <> 'waiting' ORDER BY created_at, id LIMIT $2)
     RETURNING mailing_id, state`,
    [before, limit],
  )
  const ofMailings = gone.filter(({ mailing_id: mailing }) => mailing !== null)
  for (const [key, of] of Map.groupBy(ofMailings, (each) => `${each.mailing_id} ${each.state}`)) {
    const [mailing = '', state = ''] = key.split(' ')
    const counts = letterStates.slice(1).map((each) => (each === state ? of.length : 0))
    tx.send(
      `UPDATE mailings SET sent = sent + $2, failed = failed + $3, unsubscribed = unsubscribed + $4,
         no_address = no_address + $5 WHERE id = $1`,
      [mailing, ...counts],
    )
  }
  return gone.length
}

type StoredTemplate = {
  readonly kind: NoticeKind
  readonly language: NoticeLanguage
  readonly subject: string
  readonly text: string
  readonly changedAt: number
}
const templates = columnsOf<StoredTemplate>({
  kind: oneOf('kind', noticeKinds),
  language: oneOf('language', noticeLanguages),
  subject: textColumn('subject'),
  text: textColumn('text'),
  changedAt: int('changed_at'),
})

/** The templates that the operator has changed. */
export const listTemplates = (reader: Reader): Promise<StoredTemplate[]> =>
  templates.all(reader, 'SELECT * FROM notice_templates ORDER BY kind, language')

export const findTemplate = (reader: Reader, kind: NoticeKind, language: NoticeLanguage) =>
  templates.first(reader, 'SELECT * FROM notice_templates WHERE kind = $1 AND language = $2', [kind, language])

export const writeTemplate = (tx: Tx, of: StoredTemplate): void =>
  tx.send(
    `INSERT INTO notice_templates (${templates.names}) VALUES (${list(5)})
     ON CONFLICT (kind, language) DO UPDATE SET subject = excluded.subject, text = excluded.text,
       changed_at = excluded.changed_at`,
    templates.values(of),
  )

export const deleteTemplate = (tx: Tx, kind: NoticeKind, language: NoticeLanguage): void =>
  tx.send('DELETE FROM notice_templates WHERE kind = $1 AND language = $2', [kind, language])
