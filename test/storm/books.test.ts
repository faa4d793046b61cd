import { describe, expect, test } from 'bun:test'
import { ByteBooks, bytesOf, kopecksOf, MoneyBooks, type Movement } from './books.ts'

const noRenewals = new Map<string, number>()
const charge = (order: string, amount: bigint): Movement => ({ kind: 'charge', amount: -amount, order })
const refund = (order: string, amount: bigint): Movement => ({ kind: 'refund', amount, order })
const credit: Movement = { kind: 'credit', amount: 1000n, order: null }

describe('money books of a customer', () => {
  const books = () => {
    const made = new MoneyBooks(1000n)
    made.charged.set('a', 100n)
    made.charged.set('b', 200n)
    return made
  }

  test('MoneyBooks.compare finds no problem in a statement that has every movement once', () => {
    expect(books().compare([credit, charge('a', 100n), charge('b', 200n)], 700n, noRenewals)).toEqual([])
  })

  test('MoneyBooks.compare finds an acknowledged purchase that is missing, and one that is charged twice', () => {
    expect(books().compare([credit, charge('a', 100n)], 900n, noRenewals)).toEqual([
      'order b was answered and is charged 0 times',
    ])
    const twice = [credit, charge('a', 100n), charge('b', 200n), charge('b', 200n)]
    expect(books().compare(twice, 500n, noRenewals)).toEqual(['order b was answered and is charged 2 times'])
  })

  test('MoneyBooks.compare finds an unacknowledged charge, another price and a wrong balance', () => {
    const found = books().compare([credit, charge('a', 101n), charge('b', 200n), charge('c', 5n)], 690n, noRenewals)
    expect(found).toEqual([
      'order a cost 100 and is charged 101',
      'order c over 5 was never answered',
      'the movements add up to 694 and the balance is 690',
    ])
  })

  test('MoneyBooks.compare accepts requested refunds and one renewal per proxy', () => {
    const made = books()
    made.refunds.push({ orders: ['a'], confirmed: 100n }, { orders: ['b'], confirmed: undefined })
    made.renewals.set(7, 30n)
    const renewals = new Map([
      ['r', 7],
      ['s', 7],
    ])
    const statement = [credit, charge('a', 100n), charge('b', 200n), refund('a', 100n), charge('r', 30n)]
    expect(made.compare(statement, 770n, renewals)).toEqual([])
    expect(made.compare([...statement, charge('s', 30n)], 740n, renewals)).toEqual(['proxy 7 was renewed twice'])
    expect(made.compare([...statement, refund('c', 1n)], 771n, renewals)).toEqual([
      'order c was refunded and nobody asked for it',
    ])
    const withoutRefund = statement.filter((each) => each.kind !== 'refund')
    expect(made.compare(withoutRefund, 670n, renewals)).toEqual(['the refund of a is 0, not 100'])
  })

  test('MoneyBooks.compare checks a refund over several orders by its sum, and finds one above their price', () => {
    const made = books()
    made.refunds.push({ orders: ['a', 'b'], confirmed: 250n })
    const paid = [credit, charge('a', 100n), charge('b', 200n)]
    expect(made.compare([...paid, refund('a', 50n), refund('b', 200n)], 950n, noRenewals)).toEqual([])
    expect(made.compare([...paid, refund('b', 301n)], 1001n, noRenewals)).toEqual([
      'the refund of a,b is 301, not 250',
      'a,b gave back more than it cost',
    ])
  })

  test('kopecksOf and bytesOf round to whole kopecks and bytes', () => {
    expect([kopecksOf(8.9), kopecksOf(0.05), kopecksOf(1799.99)]).toEqual([890n, 5n, 179_999n])
    expect(bytesOf(0.123456789)).toBe(123_456_789)
  })
})

describe('byte books of a customer', () => {
  const mebibyte = 1024 * 1024

  test('ByteBooks.compare is exact to the byte while no gateway is killed', () => {
    const books = new ByteBooks()
    books.note({ fromMs: 0, toMs: 100, min: 5000, max: 5000 })
    expect(books.compare(5000, [])).toEqual({ problem: undefined, isExact: true })
    expect(books.compare(5001, []).problem).toContain('1 bytes too many')
    expect(books.compare(4999, []).problem).toContain('1 bytes too few')
  })

  test('ByteBooks.compare lets a kill lose 1 MiB or 1 s of an open line, and never allows an overcharge', () => {
    const books = new ByteBooks()
    books.note({ fromMs: 0, toMs: 60_000, min: 20 * mebibyte, max: 20 * mebibyte })
    books.note({ fromMs: 0, toMs: 100, min: 1000, max: 1000 })
    const all = 20 * mebibyte + 1000
    const maxLost = Math.floor((4 * 20 * mebibyte) / 60)
    expect(books.compare(all - maxLost, [60_000]).problem).toBeUndefined()
    expect(books.compare(all - maxLost - 1, [60_000]).problem).toContain('too few')
    expect(books.compare(all + 1, [60_000]).problem).toContain('too many')
    expect(books.compare(all - 1, []).problem).toContain('too few')
  })

  test('ByteBooks.settle starts a new period from the billed bytes', () => {
    const books = new ByteBooks()
    books.note({ fromMs: 0, toMs: 100, min: 5000, max: 5000 })
    expect(books.settle(4000)).toBe(1000)
    books.note({ fromMs: 200, toMs: 300, min: 7, max: 7 })
    expect(books.compare(4007, [150])).toEqual({ problem: undefined, isExact: true })
  })
})
