import { expect, test } from 'bun:test'
import { getOpenApiMetadata } from '@asteasolutions/zod-to-openapi'
import { delivery } from '../../api/customer/webhooks/shapes.ts'
import { deliveryMessages } from './delivery-problems.ts'

test('every problem of a delivery that the API names has words in both languages, as has that of e-mail', () => {
  const described = getOpenApiMetadata(delivery.shape.problem.unwrap()).description ?? ''
  const named = [...described.matchAll(/`([a-z]+)`/g)].map(([, name = '']) => name)
  expect(named.length).toBeGreaterThan(5)
  for (const { problems } of Object.values(deliveryMessages)) {
    expect(new Set(Object.keys(problems))).toEqual(new Set([...named, 'mail']))
  }
})
