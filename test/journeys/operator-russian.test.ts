import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { actionNames, actions } from '../../src/console/operator/actions-ru.ts'
import { parts } from '../../src/console/operator/verify-ru.ts'
import { type Service, startService } from '../harness/service.ts'

describe('the operator’s console in Russian', () => {
  let shop: Service
  beforeAll(async () => {
    shop = await startService('sqlite')
  })
  afterAll(() => shop.stop())

  test('every action of the audit log has a Russian line and an English one', async () => {
    const named = async (api: string): Promise<string[]> => {
      const { paths } = (await (await fetch(`${shop.url}/${api}/v1/openapi.json`)).json()) as {
        paths: Record<string, { post?: { operationId: string } }>
      }
      return Object.values(paths).flatMap(({ post }) => (post ? [post.operationId] : []))
    }
    // Sign-in and sign-out are not logged. Export, findHolders, a look at an order, a proxy or a customer's proxies and
    // a search for an address only read and are logged. Of sign-ins, those with a recovery code are.
    const ofOperators = (await named('auth')).filter((id) => id.endsWith('Operator') && !id.startsWith('sign'))
    const wanted = [
      ...(await named('admin')),
      ...ofOperators,
      'exportCustomer',
      'findHolders',
      'getOrderStory',
      'listCustomerProxies',
      'search',
      'showProxy',
      'useRecoveryCode',
    ]
    expect(Object.keys(actions).toSorted()).toEqual([...new Set(wanted)].toSorted())
    expect(Object.keys(actionNames).toSorted()).toEqual(Object.keys(actions).toSorted())
  })

  test('every part of verify has a Russian name in the console', () => {
    for (const { name } of shop.services.verifiers) expect(parts[name]).toMatch(/[а-я]|VPN/i)
  })
})
