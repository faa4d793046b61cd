import { expect, test } from 'bun:test'
import { providerKinds } from '../../adapters/payments/kinds.ts'
import { eventTypes } from '../../domains/events/rules.ts'
import { increaseAction } from '../../domains/vpn/rules.ts'
import { createFormat } from './messages.tsx'
import { eventMessages, methodNames, orderName, tellEvent, tradeMessages } from './trade.ts'

test('every event type has a text in both languages', () => {
  for (const { types } of Object.values(eventMessages)) expect(Object.keys(types)).toEqual([...eventTypes])
})

test('tellEvent writes the fields that it knows and skips the others', () => {
  const format = createFormat('en')
  const data = { proxy_id: 7, by: 'operator', from_ip: '192.0.2.1', to_ip: '192.0.2.9', reason: 'abuse', shoe_size: 43 }
  expect(tellEvent(data, eventMessages.en, format)).toBe('Proxy 7, 192.0.2.1 → 192.0.2.9, by the seller, abuse')
  const refund = { amount_rub: 12.5, balance_rub: 100, reason: '' }
  expect(tellEvent(refund, eventMessages.en, format)).toBe('₽12.50, balance ₽100.00')
})

test('every payment method of every provider has a name in both languages', () => {
  const methods = providerKinds.flatMap((kind) => kind.methods.map((each) => each.method))
  for (const names of Object.values(methodNames)) expect(Object.keys(names).toSorted()).toEqual([...methods].toSorted())
})

test('every product and action of an order has a name in both languages', () => {
  const actions = ['buy', 'prolong', 'renew', 'move', 'delete', 'replace', increaseAction]
  for (const texts of Object.values(tradeMessages)) {
    for (const action of actions) expect(texts.actions[action]).toBeString()
    expect(orderName({ product: 'vpn', action: increaseAction }, texts)).not.toContain('increase')
  }
})
