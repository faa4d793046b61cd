import { expect, test } from 'bun:test'
import { CallRefused } from '../../client/call.ts'
import { joinExports, sendBatches, sumRoubles, toBatches } from './batches.ts'

const ids = Array.from({ length: 1_201 }, (_, index) => index + 1)

test('toBatches divides 1,201 proxies into requests of at most 1,000, each proxy once', () => {
  expect(toBatches(ids, 1_000).map((each) => each.length)).toEqual([1_000, 201])
  expect(toBatches(ids, 500).flat()).toEqual(ids)
  expect(toBatches([], 500)).toEqual([])
})

test('sumRoubles adds 0.1 and 0.2 to 0.3 exactly', () => {
  expect(sumRoubles([0.1, 0.2])).toBe(0.3)
})

test('sendBatches stops at the first refused part and reports the parts before it', async () => {
  const sent: number[] = []
  const refusal = new Error('out of money')
  const send = async (batch: readonly number[]) => {
    if (batch[0] === 1_001) throw refusal
    return batch.length
  }
  const sending = sendBatches(toBatches(ids, 500), { send, onSent: (_, answer) => void sent.push(answer) })
  expect(await sending.catch((error: unknown) => error)).toBe(refusal)
  expect(sent).toEqual([500, 500])
})

test('sendBatches repeats a part after Retry-After of the rate limit, and stops if it is longer than a minute', async () => {
  const refuse = (seconds: number) =>
    new CallRefused(429, 'rate_limited', 'too many', null, null, true, 'rate_limited', {}, seconds * 1000)
  const refusals = [refuse(7), refuse(2)]
  const [sent, slept]: [number[], number[]] = [[], []]
  const send = async (batch: readonly number[]) => {
    const refusal = batch[0] === 501 ? refusals.shift() : undefined
    if (refusal) throw refusal
    return batch.length
  }
  const onSent = (_: readonly number[], answer: number) => void sent.push(answer)
  const sleep = async (ms: number) => void slept.push(ms)
  await sendBatches(toBatches(ids, 500), { send, onSent, sleep })
  expect([sent, slept]).toEqual([
    [500, 500, 201],
    [7_000, 2_000],
  ])
  const late = refuse(61)
  const sending = sendBatches([ids], { send: () => Promise.reject(late), onSent, sleep })
  expect(await sending.catch((error: unknown) => error)).toBe(late)
})

test('joinExports writes one file with one CSV header and every proxy of the JSON parts', () => {
  expect(joinExports('txt', ['a\nb\n', 'c'])).toBe('a\nb\nc\n')
  expect(joinExports('csv', ['id,ip\n1,a\n', 'id,ip\n2,b\n'])).toBe('id,ip\n1,a\n2,b\n')
  const part = (id: number) => JSON.stringify({ ok: true, data: { proxies: [{ id }], count: 1 } })
  expect(JSON.parse(joinExports('json', [part(1), part(2)]))).toEqual({ proxies: [{ id: 1 }, { id: 2 }], count: 2 })
})
