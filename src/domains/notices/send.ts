import type { Tx } from '../../db/transaction.ts'
import { addressOf, defaultChoices, unsubscribeUrl } from './choices.ts'
import type { NoticeDeps } from './deps.ts'
import type { Handed, NoticeMail } from './ports.ts'
import { render } from './render.ts'
import {
  dayMs,
  dayOf,
  letterKeptMs,
  letterLeaseMs,
  maxTries,
  type NoticeChoices,
  type NoticeLetter,
  retryAt,
} from './rules.ts'
import { listBlocked } from './store-audience.ts'
import * as store from './store-letters.ts'

type Claimed = {
  readonly letter: NoticeLetter
  readonly language: NoticeChoices['language'] | null
  readonly address: string
}

/**
 * Sends letters that are due, at most `limit` at a time, each under a lease and outside transactions: a shop that dies
 * after the mail server took a letter sends it again. Returns `limit` if there may be more to do now.
 */
export async function sendDue(deps: NoticeDeps, limit: number): Promise<number> {
  const { mail } = deps
  if (!mail) return 0
  const lease = Buffer.from(deps.random(12)).toString('hex')
  const { looked, claimed } = await deps.db.transact((tx) => claim(deps, tx, lease, limit))
  const handed = await Promise.all(claimed.map((each) => send(deps, mail, lease, each)))
  // A mail server that takes nothing now is asked again later.
  const isDown = handed.length > 0 && handed.every((each) => each === 'later')
  return isDown ? 0 : looked
}

/** Ends letters without address or choice, postpones those above the day's number, and takes the others. */
async function claim(deps: NoticeDeps, tx: Tx, lease: string, limit: number) {
  const nowMs = deps.clock()
  const due = await store.lockDue(tx, nowMs, limit)
  const blocked = await listBlocked(
    tx,
    due.map(({ customer }) => customer),
  )
  const claimed: Claimed[] = []
  for (const letter of due) {
    const { customer, id, kind } = letter
    const chosen = await store.findChoices(tx, customer)
    const { kinds } = chosen ?? defaultChoices(customer)
    const address = await addressOf(deps, customer, tx)
    if (blocked.has(customer) || !kinds.includes(kind)) store.endLetter(tx, id, 'unsubscribed', nowMs)
    else if (address === null) store.endLetter(tx, id, 'no_address', nowMs)
    // A shop that stops in each attempt, or cannot write the letter, must not try for ever.
    else if (letter.tries >= maxTries) store.endLetter(tx, id, 'failed', nowMs)
    else if (letter.tries === 0 && !(await store.takeDay(tx, customer, dayOf(nowMs), deps.lettersPerDay)))
      store.postpone(tx, id, (dayOf(nowMs) + 1) * dayMs)
    else {
      store.takeLetter(tx, id, lease, nowMs + letterLeaseMs)
      claimed.push({ letter: { ...letter, tries: letter.tries + 1 }, language: chosen?.language ?? null, address })
    }
  }
  return { looked: due.length, claimed }
}

async function send(deps: NoticeDeps, mail: NoticeMail, lease: string, of: Claimed): Promise<Handed> {
  const { letter, language, address } = of
  const url = unsubscribeUrl(deps, letter.customer, letter.kind)
  const written = await render(deps, letter, language, url)
  // Its events were deleted by age, or its mailing has no text.
  const handed = written
    ? await mail.send({ ...written, kind: letter.kind, to: address, id: letter.id, unsubscribeUrl: url })
    : ('refused' as const)
  const nowMs = deps.clock()
  const again = handed === 'later' ? retryAt(letter.tries, nowMs) : undefined
  const state = handed === 'taken' ? 'sent' : again === undefined ? 'failed' : 'waiting'
  const endedAt = state === 'waiting' ? null : nowMs
  await deps.db.transact((tx) =>
    store.writeOutcome(tx, { id: letter.id, lease, state, nextAt: again ?? letter.nextAt, endedAt }),
  )
  return handed
}

/** Deletes at most `limit` letters older than 30 days; returns how many. */
export const forgetLetters = (deps: NoticeDeps, limit: number): Promise<number> =>
  deps.db.transact((tx) => store.deleteLetters(tx, deps.clock() - letterKeptMs, limit))
