import { expect, test } from 'bun:test'
import { nextTicketKeys, rotateTicketKeys } from './ticket-keys.ts'

const dayMs = 86_400_000

test('random ticket keys change after 1 day, and the key before decrypts for 1 more day', () => {
  const first = rotateTicketKeys(undefined, 0)
  expect(rotateTicketKeys(first, dayMs - 1)).toBe(first)
  const second = rotateTicketKeys(first, dayMs)
  expect(second.keys.slice(1)).toEqual([...first.keys])
  expect(rotateTicketKeys(second, 2 * dayMs).keys.slice(1)).toEqual(second.keys.slice(0, 1))
  // A gateway that stood still for 2 days accepts none of its old tickets.
  expect(rotateTicketKeys(second, 3 * dayMs).keys).toHaveLength(1)
})

test('gateways with one secret have the same keys on a day, and accept those of the day before and after', () => {
  const keysOn = (day: number, secret = 's'.repeat(32)) => nextTicketKeys(secret, undefined, day * dayMs + 5).keys
  expect(keysOn(7)).toEqual(keysOn(7))
  expect(keysOn(8)[1]).toEqual(keysOn(7)[0])
  expect(keysOn(7)[2]).toEqual(keysOn(8)[0])
  expect(keysOn(7, 't'.repeat(32))[0]).not.toEqual(keysOn(7)[0])
})
