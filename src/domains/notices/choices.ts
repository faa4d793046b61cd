import { type CustomerId, readId } from '../../core/ids.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Reader } from '../../db/transaction.ts'
import type { NoticeDeps } from './deps.ts'
import { type NoticeChoices, type NoticeKind, type NoticeLanguage, noticeKinds } from './rules.ts'
import * as store from './store-letters.ts'

const sealContext = 'unsubscribe'

/** What a customer wants who has chosen nothing. */
export const defaultChoices = (customer: CustomerId): NoticeChoices => ({
  customer,
  kinds: ['message'],
  language: 'ru',
  doneSeq: 0,
  changedAt: 0,
})

/** The address that letters go to. */
export const addressOf = async ({ db, identities }: NoticeDeps, id: CustomerId, reader: Reader = db) =>
  (await identities.profile({ kind: 'customer', id }, reader)).email

/** A customer's choices, the address that letters go to, and whether the shop sends any. */
export async function showChoices(deps: NoticeDeps, customer: CustomerId) {
  const chosen = await store.findChoices(deps.db, customer)
  return {
    kinds: (chosen ?? defaultChoices(customer)).kinds,
    language: chosen?.language ?? null,
    address: await addressOf(deps, customer),
    isAvailable: deps.isOn,
    perDay: deps.lettersPerDay,
  }
}

/** Chooses notices. Events before the first choice cause no letter. */
export async function choose(
  deps: NoticeDeps,
  customer: CustomerId,
  of: { readonly kinds: readonly NoticeKind[]; readonly language: NoticeLanguage },
): Promise<void> {
  if (of.kinds.length > 0) {
    if (!deps.isOn) throw new Refusal('notices_off')
    if ((await addressOf(deps, customer)) === null) throw new Refusal('notices_no_address')
  }
  await write(deps, customer, () => of)
}

async function write(
  deps: NoticeDeps,
  customer: CustomerId,
  change: (before: NoticeChoices) => Pick<NoticeChoices, 'kinds' | 'language'>,
): Promise<void> {
  await deps.db.transact(async (tx) => {
    // Links in old letters still work after an erasure, and must not write the customer's row again.
    if (await deps.ledger.isErased(tx, customer)) return
    const doneSeq = await deps.events.lastOf(tx, customer)
    await store.insertChoices(tx, { ...defaultChoices(customer), doneSeq, changedAt: deps.clock() })
    const before = (await store.lockChoices(tx, customer)) ?? defaultChoices(customer)
    const { kinds, language } = change(before)
    const chosen = noticeKinds.filter((each) => kinds.includes(each))
    store.updateChoices(tx, { ...before, kinds: chosen, language, changedAt: deps.clock() })
  })
}

/** The address of the page that ends letters of a kind (RFC 8058). Its secret names customer and kind, sealed. */
export function unsubscribeUrl({ vault, siteUrl }: NoticeDeps, customer: CustomerId, kind: NoticeKind): string {
  const secret = Buffer.from(vault.seal(`${customer} ${kind}`, sealContext)).toString('base64url')
  return `${siteUrl()}/unsubscribe/${secret}`
}

/** Which letters a secret ends; undefined if this shop did not make it. */
export function readUnsubscribe({ vault }: NoticeDeps, secret: string) {
  try {
    const [id = '', name] = vault.open(Buffer.from(secret, 'base64url'), sealContext).split(' ')
    const customer = readId('customer', id)
    const kind = noticeKinds.find((each) => each === name)
    return customer && kind && { customer, kind }
  } catch {
    return undefined
  }
}

/** Ends letters of a kind; false if this shop did not make the secret. Repeating it changes nothing more. */
export async function unsubscribe(deps: NoticeDeps, secret: string): Promise<boolean> {
  const of = readUnsubscribe(deps, secret)
  if (!of) return false
  await write(deps, of.customer, (before) => ({
    kinds: before.kinds.filter((each) => each !== of.kind),
    language: before.language,
  }))
  return true
}
