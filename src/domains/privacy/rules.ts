import type { Address } from '../../core/address.ts'
import { addMonths, monthStart } from '../../core/calendar.ts'
import { idsIn } from '../../core/ids.ts'
import { type Kopecks, toRoubles } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'

/** A query for the holders of an address in a period, and the host that was contacted, if known. */
export type AddressQuestion = {
  readonly address: Address
  readonly from: number
  readonly to: number
  readonly host: string
}

/** The holders of an address. */
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

/** What an erasure would destroy. */
export type Lost = {
  readonly balance: Kopecks
  readonly proxies: number
  readonly subscriptions: number
  readonly trafficBytes: bigint
  /** Unpaid payments, which forbid an erasure: their money would have no owner. */
  readonly openPayments: number
}

/** The same as the API shows it. */
export const toLostDetails = (lost: Lost) => ({
  balance_rub: toRoubles(lost.balance),
  proxies: lost.proxies,
  vpn_subscriptions: lost.subscriptions,
  traffic_bytes: Number(lost.trafficBytes),
  open_payments: lost.openPayments,
})

export const historyDiffers = (checkpoint: number): Refusal => new Refusal('history_differs', { checkpoint })

/** An exported row. */
export type ExportedRow = { readonly table: string; readonly row: Readonly<Record<string, unknown>> }

/** The start of an export page: the number of the table, and the key after which it continues. */
export type ExportPosition = { readonly holding: number; readonly after: readonly (string | number)[] }

const isPlainId = (text: string): boolean =>
  /^[a-z]{3}_[0-9a-z]{26}$/.test(text) || /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
const isMoment = (text: string): boolean => /^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/.test(text)
const isNumber = (text: string): boolean => /^-?\d{1,16}(\.\d{1,4})?$/.test(text)

const blank = '[erased]'

/** JSON without personal texts: ids, moments and numbers stay. Unreadable text is blanked whole. */
export function redact(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), (_, value: unknown) =>
      typeof value !== 'string' || isPlainId(value) || isMoment(value) || isNumber(value) ? value : blank,
    )
  } catch {
    return JSON.stringify(blank)
  }
}

/** The ids and bare numbers in a request. */
export function thingsIn(text: string): { readonly ids: readonly string[]; readonly numbers: readonly number[] } {
  const numbers = [...text.matchAll(/[":[,](\d{1,15})(?=[",\]}])/g)].map((found) => Number(found[1]))
  return { ids: idsIn(text), numbers: [...new Set(numbers)] }
}

const personalFields = ['name', 'public_key', 'publicKey', 'comment', 'metadata']

/** A purchase request without the customer's names, comments and keys. */
export function withoutNames(text: string): string {
  try {
    const request: unknown = JSON.parse(text)
    if (typeof request !== 'object' || request === null || Array.isArray(request)) return text
    const kept = Object.entries(request).filter(([name]) => !personalFields.includes(name))
    return JSON.stringify(Object.fromEntries(kept))
  } catch {
    return text
  }
}

export const toCursor = ({ holding, after }: ExportPosition): string => JSON.stringify([holding, ...after])

export function readCursor(text: string): ExportPosition | undefined {
  try {
    const parts: unknown = JSON.parse(text)
    if (!Array.isArray(parts) || !parts.every(isKeyPart)) return undefined
    const [holding, ...after] = parts
    return typeof holding === 'number' ? { holding, after } : undefined
  } catch {
    return undefined
  }
}

/** A safe integer, or text without NUL and lone surrogates, which PostgreSQL refuses. */
const isKeyPart = (value: unknown): value is string | number =>
  typeof value === 'string' ? !value.includes('\0') && value.isWellFormed() : Number.isSafeInteger(value)

/** Whether the key parts of a cursor have the types of a table's key. */
export const fitsKey = (
  after: ExportPosition['after'],
  { key, numbers = [] }: { readonly key: readonly string[]; readonly numbers?: readonly string[] },
): boolean =>
  after.length === 0 ||
  (after.length === key.length &&
    key.every((name, index) => typeof after[index] === (numbers.includes(name) ? 'number' : 'string')))

/** The longest time from the insertion of a customer to its log entry. */
const addedWithinMs = 60_000

/** Whether a log entry added a customer: its request has the name with which the row history begins. */
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

/** A text literal, as both engines write it into the history. */
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

/** How many days records of customers' activity are kept. */
export type Retention = { readonly sessionDays: number; readonly sourceDays: number; readonly hourDays: number }

export const shippedRetention: Retention = { sessionDays: 30, sourceDays: 90, hourDays: 400 }

/** The starts of all months from the month of `firstMs` until `beforeMs`. */
export function monthStartsUntil(firstMs: number, beforeMs: number): number[] {
  const starts: number[] = []
  for (let at = monthStart(firstMs); at < beforeMs; ) {
    starts.push(at)
    at = addMonths(at, 1)
  }
  return starts
}
