import { expect, test } from 'bun:test'
import { eventTypes } from '../../domains/events/rules.ts'
import { eventWords, tellEvent } from './event-words.ts'
import { createFormat } from './format.ts'

test('every type of event has its words in both languages', () => {
  for (const words of Object.values(eventWords)) expect(Object.keys(words.types)).toEqual([...eventTypes])
})

test('an event is told by what it carries, and what is not known is passed over', () => {
  const format = createFormat('en')
  const data = { proxy_id: 7, by: 'operator', from_ip: '192.0.2.1', to_ip: '192.0.2.9', reason: 'abuse', shoe_size: 43 }
  expect(tellEvent(data, eventWords.en, format)).toBe('Proxy 7, 192.0.2.1 → 192.0.2.9, abuse')
  const refund = { amount_rub: 12.5, balance_rub: 100, reason: '' }
  expect(tellEvent(refund, eventWords.en, format)).toBe('₽12.50, balance ₽100.00')
})
