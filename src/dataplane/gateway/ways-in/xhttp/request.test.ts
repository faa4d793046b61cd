import { expect, test } from 'bun:test'
import { createDice, mutate } from '../../../../../test/harness/dice.ts'
import { toBytes, toText } from '../../../../../test/harness/protocol.ts'
import { scaled } from '../../../../../test/harness/scale.ts'
import { readXhttpRequest, splitPath, toXhttpFields } from './request.ts'

const path = '/0123456789abcdef0123456789abcdef'
const session = '11111111-2222-4333-8444-555555555555'
const refererOf = (characters: number) =>
  ['referer', `https://a.example/x?x_padding=${'X'.repeat(characters)}`] as const
const padded = [refererOf(100)]

test.each([
  ['GET', `${path}/${session}`, { kind: 'download', session }],
  ['POST', `${path}/${session}/0`, { kind: 'packet', session, seq: 0 }],
  ['POST', `${path}/${session}/1234?a=b`, { kind: 'packet', session, seq: 1234 }],
  ['POST', `${path}/${session}`, { kind: 'upload', session }],
  ['POST', `${path}/`, { kind: 'both' }],
  ['POST', path, { kind: 'both' }],
  ['GET', path, undefined],
  ['GET', `${path}/${session}/0`, undefined],
  ['PUT', `${path}/${session}/0`, undefined],
  ['POST', `${path}/${session}/01`, undefined],
  ['POST', `${path}/${session}/-1`, undefined],
  ['POST', `${path}/${session}/9999999999999999`, undefined],
  ['POST', `${path}/${session}/0/`, undefined],
  ['POST', `${path}//0`, undefined],
  ['GET', `${path}/${'a'.repeat(65)}`, undefined],
  ['GET', `${path}/a%20b`, undefined],
] as const)('XHTTP reads %s %s', (method, target, expected) => {
  expect(readXhttpRequest(method, target, padded)).toEqual(expected)
  expect(splitPath(target).path).toBe(path)
})

test('XHTTP takes 100 to 1000 characters of padding, in Referer or in the query', () => {
  const isTaken = (characters: number): boolean =>
    readXhttpRequest('GET', `${path}/${session}`, [refererOf(characters)]) !== undefined
  expect([99, 100, 1000, 1001].map(isTaken)).toEqual([false, true, true, false])
  expect(readXhttpRequest('GET', `${path}/${session}?x_padding=${'0'.repeat(100)}`, [])).toBeDefined()
  expect(readXhttpRequest('GET', `${path}/${session}`, [])).toBeUndefined()
})

test('an answer of XHTTP has 100 to 1000 characters of padding', () => {
  const lengthFor = (random: number): number =>
    toXhttpFields(() => random, true).find(([name]) => name === 'x-padding')?.[1].length ?? 0
  expect([0, 0.999_999].map(lengthFor)).toEqual([100, 1000])
})

test('mutated targets of XHTTP throw nothing, and all that are read have a short session and an exact number', () => {
  const seeds = [`${path}/${session}/17`, `${path}/${session}`, `${path}/`, `${path}?x_padding=1`].map(toBytes)
  let readCount = 0
  for (let seed = 1; seed <= scaled(100_000); seed += 1) {
    const dice = createDice(seed)
    const target = toText(mutate(seeds, dice))
    const request = readXhttpRequest(dice(2) === 0 ? 'GET' : 'POST', target, padded)
    if (!request) continue
    readCount += 1
    const isRight =
      request.kind === 'both' ||
      (/^[\w-]{1,64}$/.test(request.session) && (request.kind !== 'packet' || Number.isSafeInteger(request.seq)))
    if (!isRight) expect({ seed, request }).toBeUndefined()
  }
  expect(readCount).toBeGreaterThan(100)
})
