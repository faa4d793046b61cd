import { resolve } from 'node:path'
import { isIdempotencyKey } from '../domains/orders/rules.ts'
import { type CustomerId, type OrderId, readId } from '../kernel/ids.ts'
import { type Given, mistyped } from './command.ts'

/** What several commands read from what was typed. */

/** What commands are given to work with, opened only when one runs. */
export type Opened<Services> = <Result>(given: Given, work: (services: Services) => Promise<Result>) => Promise<Result>

export const customerWord = { name: 'CUSTOMER', meaning: "the customer's id, cus_…" }
export const orderWord = { name: 'ORDER', meaning: "the order's id, ord_…" }

export function readCustomer(text = ''): CustomerId {
  const id = readId('customer', text)
  if (!id) throw mistyped('CUSTOMER is an id like cus_…, as "customer list" shows it.')
  return id
}

export function readOrder(text = ''): OrderId {
  const id = readId('order', text)
  if (!id) throw mistyped('ORDER is an id like ord_…, as "order list" shows it.')
  return id
}

/** A whole number that an option has, or the one that it has unless said. */
export function readWhole(given: Given, flag: string, unless: number, bounds: { min: number; max: number }): number {
  const text = given.flags[flag] ?? String(unless)
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (value >= bounds.min && value <= bounds.max) return value
  throw mistyped(`--${flag} is a whole number from ${bounds.min} to ${bounds.max}.`)
}

/** What the customer will see of why money or traffic was moved. */
export function readNote(given: Given, unless: string): string {
  const text = given.flags['note'] ?? unless
  if (!/^[^\p{Cc}\p{Cs}]{1,500}$/u.test(text)) throw mistyped('--note is 1 to 500 printable characters.')
  return text
}

export const noteOption = { flag: 'note', value: 'TEXT', meaning: 'why; the customer sees it' }
export const keyOption = {
  flag: 'key',
  value: 'KEY',
  meaning: 'under the same key it is done once, however often it is asked',
}

/** 1 to 255 visible characters, as an Idempotency-Key is. */
export function readKey(given: Given): string | undefined {
  const key = given.flags['key']
  if (key !== undefined && !isIdempotencyKey(key)) throw mistyped('--key is 1 to 255 visible ASCII characters.')
  return key
}

/** The text of a file that was named, by its whole name where it cannot be read; of the input when that is `-`. */
export async function readTextFile(path: string, besides = ''): Promise<string> {
  if (path === '-') return Bun.stdin.text()
  try {
    return await Bun.file(path).text()
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? error.code : undefined
    if (reason === 'ENOENT' || reason === 'ENOTDIR') throw mistyped(`There is no file ${resolve(path)}.${besides}`)
    if (reason === 'EISDIR') throw mistyped(`${resolve(path)} is a folder.`)
    if (reason !== 'EACCES' && reason !== 'EPERM') throw error
    throw mistyped(`${resolve(path)} may not be read by this user. Hand it in: - in its place, and < ${path} behind.`)
  }
}
