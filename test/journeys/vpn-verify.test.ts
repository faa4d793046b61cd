import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf, report } from '../harness/vpn.ts'

type Bought = { uuid: string; device: string; order: string; second: string; slots: string }

/** Each corruption: its name, the statements that cause it, and the finding that `verify` must report. */
const corruptions: readonly (readonly [
  string,
  (of: Bought) => readonly (readonly [string, readonly unknown[]])[],
  RegExp,
])[] = [
  [
    'unpaid time',
    ({ uuid }) => [['UPDATE vpn_subscriptions SET expires_at = expires_at + 86400000 WHERE uuid = $1', [uuid]]],
    /subscription_end/,
  ],
  [
    'a changed anchor day',
    ({ uuid }) => [['UPDATE vpn_subscriptions SET anchor_day = 3 WHERE uuid = $1', [uuid]]],
    /subscription_day/,
  ],
  [
    'a stretched term',
    ({ uuid }) => [['UPDATE vpn_terms SET ends_at = ends_at + 1 WHERE subscription_uuid = $1 AND seq = 2', [uuid]]],
    /term_length/,
  ],
  [
    'months that were not ordered',
    ({ uuid }) => [['UPDATE vpn_terms SET months = 12 WHERE subscription_uuid = $1 AND seq = 2', [uuid]]],
    /term_(?:length|months)|price_differs/,
  ],
  [
    'another price',
    ({ uuid }) => [['UPDATE vpn_terms SET price = 1 WHERE subscription_uuid = $1 AND seq = 1', [uuid]]],
    /term_price/,
  ],
  [
    'a term without an order',
    ({ uuid }) => [
      [
        "UPDATE vpn_terms SET order_id = 'ord_none_' || subscription_uuid WHERE subscription_uuid = $1 AND seq = 1",
        [uuid],
      ],
    ],
    /term_unpaid/,
  ],
  [
    'a deleted term',
    ({ uuid }) => [['DELETE FROM vpn_terms WHERE subscription_uuid = $1 AND seq = 1', [uuid]]],
    /term_number/,
  ],
  [
    'a refund of a running subscription',
    ({ uuid }) => [['UPDATE vpn_terms SET refunded = 1 WHERE subscription_uuid = $1 AND seq = 1', [uuid]]],
    /term_refund_open/,
  ],
  [
    'traffic that was not granted',
    ({ uuid }) => [['UPDATE vpn_subscriptions SET traffic_limit = 5 WHERE uuid = $1', [uuid]]],
    /subscription_traffic/,
  ],
  [
    'a device limit that its terms and slots do not give',
    ({ uuid }) => [['UPDATE vpn_subscriptions SET device_limit = 1 WHERE uuid = $1', [uuid]]],
    /subscription_devices/,
  ],
  [
    'a term with more devices than its price list',
    ({ uuid }) => [['UPDATE vpn_terms SET device_limit = 9 WHERE subscription_uuid = $1', [uuid]]],
    /term_devices/,
  ],
  [
    'slots that end when no term does',
    ({ uuid }) => [['UPDATE vpn_subscriptions SET slots_end_at = 5 WHERE uuid = $1', [uuid]]],
    /slots_end/,
  ],
  [
    'bytes that no device relayed',
    ({ uuid }) => [['UPDATE vpn_subscriptions SET received = received + 1 WHERE uuid = $1', [uuid]]],
    /carried_bytes/,
  ],
  [
    'a link that opens nothing',
    ({ uuid }) => [
      [
        'UPDATE vpn_subscriptions SET link_digest = $2 WHERE uuid = $1',
        [uuid, crypto.getRandomValues(new Uint8Array(32))],
      ],
    ],
    /link_digest/,
  ],
  [
    'a link that was tampered with',
    ({ uuid }) => [['UPDATE vpn_subscriptions SET link_secret = $2 WHERE uuid = $1', [uuid, new Uint8Array(60)]]],
    /link_sealed/,
  ],
  [
    'devices of a deleted subscription',
    ({ uuid }) => [['UPDATE vpn_subscriptions SET deleted_at = 1 WHERE uuid = $1', [uuid]]],
    /subscription_held/,
  ],
  [
    'a key that belongs to another public key',
    ({ device }) => [["UPDATE vpn_peers SET public_key = 'AAAA' || id WHERE id = $1", [device]]],
    /private_key_other/,
  ],
  [
    'a key moved to another device',
    ({ device, second }) => [
      [
        'UPDATE vpn_peers SET private_key = (SELECT private_key FROM vpn_peers WHERE id = $2) WHERE id = $1',
        [device, second],
      ],
    ],
    /private_key_sealed/,
  ],
  [
    'a missing private key',
    ({ device }) => [['UPDATE vpn_peers SET private_key = NULL WHERE id = $1', [device]]],
    /private_key_sealed/,
  ],
  [
    'a stored private key of a customer’s own key',
    ({ device }) => [['UPDATE vpn_peers SET own_key = 1 WHERE id = $1', [device]]],
    /private_key_kept/,
  ],
  [
    'access keys moved to another device',
    ({ device, second }) => [
      [
        'UPDATE vpn_peers SET access_keys = (SELECT access_keys FROM vpn_peers WHERE id = $2) WHERE id = $1',
        [device, second],
      ],
    ],
    /access_keys_sealed/,
  ],
  [
    'missing access keys',
    ({ device }) => [['UPDATE vpn_peers SET access_keys = NULL WHERE id = $1', [device]]],
    /access_keys_sealed/,
  ],
  [
    'bytes that no node reported',
    ({ device }) => [['UPDATE vpn_peers SET sent = sent + 1 WHERE id = $1', [device]]],
    /carried_bytes/,
  ],
  [
    'an address held twice',
    ({ device, second }) => [
      ['DROP INDEX IF EXISTS vpn_peers_ipv4', []],
      ['UPDATE vpn_peers SET ipv4 = (SELECT ipv4 FROM vpn_peers WHERE id = $2) WHERE id = $1', [device, second]],
    ],
    /peers_share|peer_address/,
  ],
  [
    'an IPv6 address held twice',
    ({ device, second }) => [
      ['DROP INDEX IF EXISTS vpn_peers_ipv6', []],
      ['UPDATE vpn_peers SET ipv6 = (SELECT ipv6 FROM vpn_peers WHERE id = $2) WHERE id = $1', [device, second]],
    ],
    /peers_share/,
  ],
  [
    'a key held twice',
    ({ device, second }) => [
      ['DROP INDEX IF EXISTS vpn_peers_key', []],
      [
        'UPDATE vpn_peers SET public_key = (SELECT public_key FROM vpn_peers WHERE id = $2) WHERE id = $1',
        [device, second],
      ],
    ],
    /peers_share/,
  ],
  [
    'an address without its device',
    ({ device }) => [['UPDATE vpn_addresses SET peer_id = NULL WHERE peer_id = $1', [device]]],
    /peer_address/,
  ],
  [
    'an address with an unknown device',
    ({ device }) => [["UPDATE vpn_addresses SET peer_id = 'dev_' || ipv4 WHERE peer_id = $1", [device]]],
    /address_stray/,
  ],
  [
    'bought slots that no order paid for',
    ({ uuid }) => [['UPDATE vpn_subscriptions SET slots = slots + 1, device_limit = 50 WHERE uuid = $1', [uuid]]],
    /subscription_slots/,
  ],
  [
    'fewer devices than the bought slots allow',
    ({ uuid }) => [['UPDATE vpn_subscriptions SET device_limit = device_limit - 1 WHERE uuid = $1', [uuid]]],
    /subscription_devices/,
  ],
  ['a slot purchase of more slots', ({ slots }) => editSlots('slots = slots + 1', slots), /slots_order/],
  ['a slot purchase at another price', ({ slots }) => editSlots('price = price - 1', slots), /slots_order/],
  ['a slot purchase that lasts longer', ({ slots }) => editSlots('ends_at = ends_at + 1', slots), /slots_time/],
  ['a slot purchase of another term', ({ slots }) => editSlots('after_term = 2', slots), /slots_time/],
  ['a slot purchase with another refund rule', ({ slots }) => editSlots("refund = 'none'", slots), /slots_order/],
  ['a refund of slots in use', ({ slots }) => editSlots('refunded = 1', slots), /slots_refund/],
  [
    'a deleted slot purchase',
    ({ slots }) => [['DELETE FROM vpn_slots WHERE order_id = $1', [slots]]],
    /terms_counted|subscription_slots/,
  ],
  [
    'a term that renewed other slots',
    ({ uuid }) => [['UPDATE vpn_terms SET slots = 1 WHERE subscription_uuid = $1 AND seq = 2', [uuid]]],
    /term_slots/,
  ],
  [
    'an order without a term',
    ({ order }) => [["UPDATE orders SET product = 'dedicated' WHERE id = $1", [order]]],
    /term_product|terms_counted/,
  ],
]

const editSlots = (change: string, order: string) =>
  [[`UPDATE vpn_slots SET ${change} WHERE order_id = $1`, [order]]] as const

/** The verifiers of subscriptions and of the orders that paid for them. */
const parts = ['vpn', 'money']

describe.each([...enginesOf('sqlite')])('verify of VPN subscriptions on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(() => service.stop())

  async function addSubscriber(): Promise<Bought> {
    const { token } = await service.newCustomer(10_000n)
    const bought = (await service.post('/vpn/buy', { period: 1 }, { token })).data
    const slots = (await service.post('/vpn/devices/increase', { count: 2 }, { token })).data.order_id
    await service.post('/vpn/renew', { period: 3 }, { token })
    const second = (await service.post('/vpn/devices', {}, { token })).data.device.id
    await report(service, 'boot', [{ device: bought.device, rx: 10, tx: 10 }])
    return { uuid: bought.uuid, device: bought.device, order: bought.order_id, second, slots }
  }

  test('verify finds nothing in an intact shop and counts its 1 subscription and 2 devices', async () => {
    await addSubscriber()
    expect(await findingsOf(service)).toEqual([])
    const vpn = service.services.verifiers.find((each) => each.name === 'vpn')
    expect((await vpn?.verify())?.covered).toMatchObject({ subscriptions: 1, devices: 2 })
  })

  test('a job makes the access keys of devices that an earlier version added', async () => {
    const { device, second } = await addSubscriber()
    const { db, vpn } = service.services
    await db.transact((tx) => tx.run('UPDATE vpn_peers SET access_keys = NULL WHERE id IN ($1, $2)', [device, second]))
    expect([await vpn.makeMissingKeys(1), await vpn.makeMissingKeys(9), await vpn.makeMissingKeys(9)]).toEqual([
      1, 1, 0,
    ])
    expect(await findingsOf(service, ['vpn'])).toEqual([])
  })

  test.each(corruptions)('verify reports %s', async (_, corrupt, expected) => {
    const bought = await addSubscriber()
    const before = (await findingsOf(service, parts)).length
    await service.services.db.transact(async (tx) => {
      for (const [sql, values] of corrupt(bought)) await tx.run(sql, values as never)
    })
    const findings = await findingsOf(service, parts)
    expect(findings.length).toBeGreaterThan(before)
    expect(findings.map((each) => each.reason).join('\n')).toMatch(expected)
  })
})
