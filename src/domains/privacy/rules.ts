import type { Address } from '../../core/address.ts'
import { addMonths, monthStart } from '../../core/calendar.ts'
import { type Kopecks, toRoubles } from '../../core/money.ts'
import type { LostDetails } from './errors.ts'

/** An address, the moments between which it is asked for, and where somebody went from it, if that is known. */
export type AddressQuestion = {
  readonly address: Address
  readonly from: number
  readonly to: number
  readonly host: string
}

/** What was found out about an address. */
export type Holders = {
  readonly proxies: readonly {
    readonly customer: string
    readonly proxy: number
    readonly order: string
    readonly username: string
    readonly startedAt: number
    readonly endedAt: number | null
  }[]
  readonly devices: readonly {
    readonly customer: string
    readonly id: string
    readonly subscription: string
    readonly createdAt: number
    readonly removedAt: number | null
  }[]
  readonly isExit: boolean
  readonly candidates: readonly {
    readonly customer_id: string
    readonly subuser_id: string
    readonly login: string
    readonly pool: string
    readonly hour: bigint
    readonly received: bigint
    readonly sent: bigint
  }[]
}

/** What goes with a customer who goes. */
export type Lost = {
  readonly balance: Kopecks
  readonly proxies: number
  readonly subscriptions: number
  readonly trafficBytes: bigint
  /** Payments that are not paid yet; while there are any nobody is erased, for their money would be nobody's. */
  readonly openPayments: number
}

export const toLostDetails = (lost: Lost): LostDetails => ({
  balance_rub: toRoubles(lost.balance),
  proxies: lost.proxies,
  vpn_subscriptions: lost.subscriptions,
  traffic_bytes: Number(lost.trafficBytes),
  open_payments: lost.openPayments,
})

/** A row as it is handed out: its table and its columns. */
export type HandedOut = { readonly table: string; readonly row: Readonly<Record<string, unknown>> }

/** Where a page of what is handed out begins: the number of the table, and the key after which to go on. */
export type Place = { readonly holding: number; readonly after: readonly (string | number)[] }

const isPlainId = (text: string): boolean =>
  /^[a-z]{3}_[0-9a-z]{26}$/.test(text) || /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
const isMoment = (text: string): boolean => /^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/.test(text)
const isNumber = (text: string): boolean => /^-?\d{1,16}(\.\d{1,4})?$/.test(text)

/** What stands where something personal stood. */
const blank = '[erased]'

/**
 * JSON without what may tell of a person: ids, moments and numbers stay, every other text is blanked. What cannot be
 * read is blanked whole.
 */
export function redact(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), (_, value: unknown) =>
      typeof value !== 'string' || isPlainId(value) || isMoment(value) || isNumber(value) ? value : blank,
    )
  } catch {
    return JSON.stringify(blank)
  }
}

/** The ids, and the bare numbers, that a request names. */
export function idsIn(text: string): { readonly ids: readonly string[]; readonly numbers: readonly number[] } {
  const ids = text.match(/[a-z]{3}_[0-9a-z]{26}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? []
  const numbers = [...text.matchAll(/[":[,](\d{1,15})(?=[",\]}])/g)].map((found) => Number(found[1]))
  return { ids: [...new Set(ids)], numbers: [...new Set(numbers)] }
}

/** A wish without what its customer called a thing of his, or the key that he brought. */
export function withoutNames(text: string): string {
  try {
    const wish: unknown = JSON.parse(text)
    if (typeof wish !== 'object' || wish === null || Array.isArray(wish)) return text
    const { name: _, public_key: __, publicKey: ___, comment: ____, ...rest } = wish as Record<string, unknown>
    return JSON.stringify(rest)
  } catch {
    return text
  }
}

/** A place as text, and back; undefined for what is none. */
export const toCursor = ({ holding, after }: Place): string => JSON.stringify([holding, ...after])

export function readCursor(text: string): Place | undefined {
  try {
    const [holding, ...after] = JSON.parse(text) as unknown[]
    const isPlace = Number.isSafeInteger(holding) && after.every((each) => isText(each) || Number.isSafeInteger(each))
    return isPlace ? { holding: holding as number, after: after as (string | number)[] } : undefined
  } catch {
    return undefined
  }
}

/** Text that both engines take: PostgreSQL has no NUL, and neither has half of a surrogate pair. */
const isText = (value: unknown): boolean => typeof value === 'string' && !value.includes('\0') && value.isWellFormed()

/** Whether a place can be one of rows that are sorted by this key: a number where that is one, text elsewhere. */
export const fitsKey = (
  after: Place['after'],
  { key, numbers = [] }: { readonly key: readonly string[]; readonly numbers?: readonly string[] },
): boolean =>
  after.length === 0 ||
  (after.length === key.length &&
    key.every((name, index) => typeof after[index] === (numbers.includes(name) ? 'number' : 'string')))

/** How long the log may have waited for its turn after a customer was written. */
const addedWithinMs = 60_000

/** Whether an entry of the audit log is the one that added a customer: it names him as his history begins. */
export function isBeginning(
  entry: { readonly action: string; readonly at: number; readonly request: string },
  beginning: { readonly createdAt: number; readonly content: string },
): boolean {
  if (entry.action !== 'createCustomer' || Math.abs(entry.at - beginning.createdAt) > addedWithinMs) return false
  return textsIn(entry.request).some((text) =>
    [quoted(text), `E${quoted(text.replaceAll('\\', '\\\\'))}`].some((name) =>
      beginning.content.startsWith(`${name},`),
    ),
  )
}

/** As both engines write a text into the history. */
const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

function textsIn(json: string): string[] {
  const texts: string[] = []
  try {
    JSON.parse(json, (_, value: unknown) => {
      if (typeof value === 'string') texts.push(value)
      return value
    })
  } catch {
    return []
  }
  return texts
}

/** How many days what tells of customers' doings is kept. */
export type Retention = { readonly sessionDays: number; readonly sourceDays: number; readonly hourDays: number }

export const shippedRetention: Retention = { sessionDays: 30, sourceDays: 90, hourDays: 400 }

/** The first moments of all months from the one of a moment on, up to another. */
export function monthStartsUntil(firstMs: number, beforeMs: number): number[] {
  const starts: number[] = []
  for (let at = monthStart(firstMs); at < beforeMs; ) {
    starts.push(at)
    at = addMonths(at, 1)
  }
  return starts
}
