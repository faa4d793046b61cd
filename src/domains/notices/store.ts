import type { MailingId } from '../../core/ids.ts'
import { columnsOf, idColumn, int, oneOf, orNull, textColumn } from '../../db/columns.ts'
import { list } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import { audienceProducts, type LetterState, type Mailing, mailingKinds, mailingStates } from './rules.ts'

const mailings = columnsOf<Mailing>({
  id: idColumn('id'),
  kind: oneOf('kind', mailingKinds),
  product: orNull(oneOf('product', audienceProducts)),
  endsWithinDays: orNull(int('ends_within_days')),
  node: orNull(textColumn('node_id')),
  effectiveAt: orNull(int('effective_at')),
  subjectEn: orNull(textColumn('subject_en')),
  textEn: orNull(textColumn('text_en')),
  subjectRu: orNull(textColumn('subject_ru')),
  textRu: orNull(textColumn('text_ru')),
  state: oneOf('state', mailingStates),
  afterCustomer: idColumn('after_customer'),
  customers: int('customers'),
  createdAt: int('created_at'),
})

export const insertMailing = (tx: Tx, of: Mailing): void =>
  tx.send(`INSERT INTO mailings (${mailings.names}) VALUES (${list(14)})`, mailings.values(of))

/** The oldest mailing with customers to come. */
export const findWalking = (reader: Reader): Promise<Mailing | undefined> =>
  mailings.first(reader, `SELECT * FROM mailings WHERE state = 'walking' ORDER BY id LIMIT 1`)

export const findMailing = (reader: Reader, id: MailingId): Promise<Mailing | undefined> =>
  mailings.first(reader, 'SELECT * FROM mailings WHERE id = $1', [id])

/** How many letters of a mailing are in each state, with those whose rows are deleted. */
export async function countLetters(reader: Reader, id: MailingId): Promise<Record<LetterState, number>> {
  const rows = await reader.all<{ state: LetterState; n: bigint }>(
    'SELECT state, COUNT(*) AS n FROM notice_letters WHERE mailing_id = $1 GROUP BY state',
    [id],
  )
  const before = await reader.first<Record<Exclude<LetterState, 'waiting'>, bigint>>(
    'SELECT sent, failed, unsubscribed, no_address FROM mailings WHERE id = $1',
    [id],
  )
  const counts = { waiting: 0n, sent: 0n, failed: 0n, unsubscribed: 0n, no_address: 0n, ...before }
  for (const { state, n } of rows) counts[state] += n
  return mapCounts(counts)
}

const mapCounts = (of: Record<LetterState, bigint>): Record<LetterState, number> => ({
  waiting: Number(of.waiting),
  sent: Number(of.sent),
  failed: Number(of.failed),
  unsubscribed: Number(of.unsubscribed),
  no_address: Number(of.no_address),
})

/** Locks a mailing, so that each customer gets it once, whichever shop walks. */
export const lockMailing = (tx: Tx, id: MailingId): Promise<Mailing | undefined> =>
  mailings.first(tx, 'SELECT * FROM mailings WHERE id = $1 FOR UPDATE', [id])

export const writeWalk = (tx: Tx, of: Pick<Mailing, 'id' | 'state' | 'afterCustomer' | 'customers'>): void =>
  tx.send('UPDATE mailings SET state = $2, after_customer = $3, customers = $4 WHERE id = $1', [
    of.id,
    of.state,
    of.afterCustomer,
    of.customers,
  ])

/** Newest first. */
export const listMailings = (reader: Reader, before: string, limit: number): Promise<Mailing[]> =>
  mailings.all(reader, 'SELECT * FROM mailings WHERE id < $1 ORDER BY id DESC LIMIT $2', [before, limit])

export const setState = (tx: Tx, id: MailingId, state: Mailing['state']): void =>
  tx.send('UPDATE mailings SET state = $2 WHERE id = $1', [id, state])
