import { expect, test } from 'bun:test'
import { emptyChain } from '../../../core/chain.ts'
import type { OrderId, SubuserId } from '../../../core/ids.ts'
import { Refusal } from '../../../core/refusal.ts'
import {
  type ByteAccount,
  comeBack,
  comeIn,
  goOut,
  move,
  readSubject,
  setAside,
  spendLate,
  subjectOf,
} from './rules.ts'

const key = { subuser: 'sub_00000000000000000000000000' as SubuserId, pool: 'residential' }
const account: ByteAccount = { ...key, ...emptyChain, balance: 0n, aside: 0n, owed: 0n, used: 0n }
const order = 'ord_1' as OrderId
const noHash = () => new Uint8Array(32)

test('move() hashes a fixed JSON text of each movement, so that stored chains stay verifiable', () => {
  const texts: string[] = []
  const keep = (text: string) => {
    texts.push(text)
    return new Uint8Array([0xaa])
  }
  const bought = move(account, comeIn(account, 'bought', 500n)[0] ?? goOut('expired', 0n), { order }, 7, keep)
  move(bought.account, setAside(200n), { node: 'n', boot: 'b' }, 6, keep)
  const zeros = '0'.repeat(64)
  expect(texts).toEqual([
    `["${zeros}","${key.subuser}","residential",1,"bought","500","0","0","500","0","0","ord_1",null,null,7]`,
    `["aa","${key.subuser}","residential",2,"leased","-200","200","0","300","200","0",null,"n","b",7]`,
  ])
})

test('move() refuses an amount above the balance, and a balance above 8 PB', () => {
  expect(() => move({ ...account, balance: 5n }, goOut('moved_out', 6n), { order }, 1, noHash)).toThrow(Refusal)
  const full = { ...account, balance: 8_000_000_000_000_000n }
  expect(() => move(full, { kind: 'bought', amount: 1n, aside: 0n, owed: 0n }, { order }, 1, noHash)).toThrow(Refusal)
})

test('spendLate takes late bytes from the balance and owes the rest, and comeBack pays the debt first', () => {
  expect(spendLate({ ...account, balance: 30n }, 50n)).toMatchObject({ kind: 'used', amount: -30n, owed: 20n })
  expect(comeBack({ ...account, owed: 20n, aside: 50n }, 'returned', 50n)).toEqual([
    { kind: 'used', amount: 0n, aside: -20n, owed: -20n },
    { kind: 'returned', amount: 30n, aside: -30n, owed: 0n },
  ])
})

test('readSubject reads the text of subjectOf, and refuses other texts', () => {
  expect(readSubject(subjectOf(key))).toEqual(key)
  for (const text of [
    'premium:sub_1:residential',
    `premium:${key.subuser}:`,
    `premium-host:${key.subuser}:residential`,
  ]) {
    expect(readSubject(text)).toBeUndefined()
  }
})
