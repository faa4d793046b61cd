import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { hmacSha256 } from '../../src/adapters/crypto.ts'
import { keysOfExit } from '../../src/core/device-exits.ts'
import { placeLastsMs, placeMovesAfterMs, proofOfKey } from '../../src/core/device-places.ts'
import type { PlacesBody } from '../../src/node-protocol/places.ts'
import { engines } from '../harness/database.ts'
import { keysOfDevice } from '../harness/gateway.ts'
import { joinNode, reportOf } from '../harness/node.ts'
import { type Service, startService } from '../harness/service.ts'
import { sellVpn } from '../harness/vpn.ts'

const place = (digit: number): string => `4${String(digit).repeat(16)}`

describe.each([...engines])('machines of VPN devices on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine, { TURNPIKE_GATEWAY_VPN: 'on' })
    await sellVpn(service, { months: { 1: 300 }, device_limit: 2, refund: 'none' })
  })
  afterAll(() => service.stop())

  /** A subscription with two devices, and what gateways report of them. */
  async function subscribe() {
    const { token } = await service.newCustomer(10_000n)
    const post = (path: string, body: unknown) => service.post(path, body, { token })
    await post('/vpn/buy', { period: 1 })
    await post('/vpn/devices', {})
    const { devices } = (await service.get('/vpn/info', { token })).data
    const [first, second] = devices.map(({ id }: { id: string }) => id) as [string, string]
    const secrets = new Map<string, string>()
    for (const id of [first, second]) secrets.set(id, (await keysOfDevice(service, id)).uuid)
    /** `secret`: the key that the gateway has seen, the device's own unless named. */
    const report = async (
      items: readonly (readonly [device: string, place: number, isNew?: boolean, secret?: string])[],
    ) => {
      const places: PlacesBody['places'] = items.map(([device, digit, isNew = true, secret]) => ({
        device,
        place: place(digit),
        active_at: service.clock.nowMs,
        is_new: isNew,
        key: 'vless',
        proof: createHmac('sha256', secret ?? secrets.get(device) ?? 'unknown')
          .update(`machine 1\0nod_test\0${device}\0${place(digit)}`)
          .digest('hex'),
      }))
      const refused = (await service.services.vpn.gateways.places?.('nod_test', { places })) ?? []
      return refused.map((each) => each.place)
    }
    return { first, second, report, post }
  }

  test('two gateways that ask for a third machine at the same time on a limit of two are both refused', async () => {
    const { first, second, report } = await subscribe()
    expect(await report([[first, 1]])).toEqual([])
    expect(await report([[second, 1]])).toEqual([])
    const both = await Promise.all([report([[first, 2]]), report([[second, 3]])])
    expect(both).toEqual([[place(2)], [place(3)]])
  })

  test('a copied key takes a free slot, and loses it when the other device connects', async () => {
    const { first, second, report } = await subscribe()
    expect(await report([[first, 1]])).toEqual([])
    service.clock.advance(10)
    expect(await report([[first, 2]])).toEqual([])
    expect(await report([[second, 3]])).toEqual([])
    expect(await report([[first, 1, false]])).toEqual([])
    expect(await report([[first, 2, false]])).toEqual([place(2)])
  })

  test('a device moves to another network 15 s after it was silent, and any machine comes after 60 s', async () => {
    const { first, second, report } = await subscribe()
    await report([[first, 1]])
    service.clock.advance(placeMovesAfterMs - 1)
    await report([[second, 1]])
    expect(await report([[first, 2]])).toEqual([place(2)])
    service.clock.advance(1)
    expect(await report([[first, 2]])).toEqual([])
    expect(await report([[first, 1, false]])).toEqual([place(1)])
    service.clock.advance(placeLastsMs)
    expect(await report([[first, 4]])).toEqual([])
  })

  test('a machine of a device that the shop does not know is not refused, and is forgotten', async () => {
    const { report } = await subscribe()
    expect(await report([[`dev_${'0'.repeat(26)}`, 1]])).toEqual([])
  })

  test('a stolen gateway takes no slot for a device whose key it has not seen, and counts of it take none', async () => {
    const { first, second, report } = await subscribe()
    await report([[first, 1]])
    service.clock.advance(10)
    expect(await report([[first, 2]])).toEqual([])
    // Its state has the digest of the key, which is no key.
    const digest = new Bun.CryptoHasher('sha256').update((await keysOfDevice(service, second)).uuid).digest('hex')
    for (const stolen of [digest, 'a guess']) expect(await report([[second, 3, true, stolen]])).toEqual([place(3)])
    const peers = [{ id: second, received: 1000, sent: 1000, handshake_at: null }]
    await service.services.vpn.gateways.report('nod_test', reportOf({ boot: '0boot-stolen', peers }))
    expect(await report([[first, 2, false]])).toEqual([])
    expect(await report([[second, 3]])).toEqual([])
    expect(await report([[first, 2, false]])).toEqual([place(2)])
  })

  test('only an entry reads the secrets of exits, and it proves keys for the exits behind it only', async () => {
    const { first } = await subscribe()
    const { fleet, setExit, vpn } = service.services
    const [entry, exit, other] = [await joinNode(service), await joinNode(service), await joinNode(service)]
    const read = async (node: typeof entry, cursor = '') => {
      const { status, data } = await node.ask('GET', `state?vpn=1${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
      const devices: { id: string; exit_secret?: string }[] = data?.devices ?? []
      return { status, cursor: data?.cursor, secret: devices.find(({ id }) => id === first)?.exit_secret }
    }
    const before = await read(entry)
    expect(before).toMatchObject({ status: 200, secret: undefined })
    await fleet.setEntry(entry.name, true)
    await setExit(exit.name, entry.name)
    expect((await read(entry, before.cursor)).status).toBe(400)
    const { cursor, secret = '' } = await read(entry)
    expect([secret.length, (await read(entry, cursor)).status]).toEqual([64, 200])
    expect((await read(other)).secret).toBeUndefined()
    const show = async (of: string) => {
      const { uuid } = keysOfExit(hmacSha256, secret, of)
      const proof = proofOfKey(hmacSha256, uuid, entry.id, first, place(1))
      const seen = {
        device: first,
        place: place(1),
        active_at: 0,
        is_new: true,
        key: 'vless',
        exit: of,
        proof,
      } as const
      return (await vpn.gateways.places?.(entry.id, { places: [seen] }))?.length
    }
    expect([await show(exit.id), await show(other.id), await show('nod_made_up')]).toEqual([0, 1, 1])
    await setExit(exit.name, null)
    expect(await show(exit.id)).toBe(1)
    await fleet.setEntry(entry.name, false)
    expect((await read(entry, cursor)).status).toBe(400)
    expect((await read(entry)).secret).toBeUndefined()
  })

  test('a gateway reads devices only if it asks for them and a protocol of its is on, and all of them when one is on again', async () => {
    const { first } = await subscribe()
    const { fleet } = service.services
    const gateway = await joinNode(service)
    /** Undefined without devices; otherwise whether the device is among them. */
    const read = async (asks: boolean, cursor = '') => {
      const query = `state?${asks ? 'vpn=1' : ''}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`
      const { status, data } = await gateway.ask('GET', query)
      const devices: { id: string }[] | undefined = data?.devices
      return { status, cursor: data?.cursor, hasDevice: devices?.some(({ id }) => id === first) }
    }
    expect(await read(false)).toMatchObject({ status: 200, hasDevice: undefined })
    const on = await read(true)
    expect(on).toMatchObject({ status: 200, hasDevice: true })
    await fleet.setVpnLinks(gateway.name, { protocols: [] })
    expect((await read(true, on.cursor)).status).toBe(400)
    const off = await read(true)
    expect(off).toMatchObject({ status: 200, hasDevice: undefined })
    await fleet.setVpnLinks(gateway.name, { protocols: ['trojan'] })
    expect((await read(true, off.cursor)).status).toBe(400)
    expect(await read(true)).toMatchObject({ status: 200, hasDevice: true })
    expect((await read(true, on.cursor)).status).toBe(200)
  })

  test('machines of a node are taken one request at a time with 100 waiting, and 20,000 at once', async () => {
    const node = await joinNode(service)
    const ask = (places: PlacesBody['places']) => node.ask('POST', 'places', { places })
    const { first: device } = await subscribe()
    const { uuid } = await keysOfDevice(service, device)
    const proof = proofOfKey(hmacSha256, uuid, node.id, device, place(1))
    const shown = { device, place: place(1), active_at: 0, is_new: true, key: 'vless', proof } as const
    const written = Promise.withResolvers<void>()
    const holding = service.services.db.transact(async (tx) => {
      await tx.run('UPDATE vpn_subscriptions SET device_limit = device_limit')
      await written.promise
    })
    const many = Array.from({ length: 102 }, () => ask([shown]))
    const first = await Promise.race(many)
    written.resolve()
    await holding
    expect(first).toMatchObject({ status: 503, error: { reason: 'database_busy' } })
    expect((await Promise.all(many)).filter(({ status }) => status === 200)).toHaveLength(101)
    const full = Array.from({ length: 500 }, () => ({ ...shown, device: 'unknown' }))
    for (let sent = 500; sent < 20_000; sent += 500) expect((await ask(full)).status).toBe(200)
    expect((await ask(full)).status).toBe(429)
    service.clock.advance(250)
    expect((await ask(full)).status).toBe(200)
  })

  test('removing a device frees the slots of its machines, and silent machines are forgotten', async () => {
    const { first, second, report, post } = await subscribe()
    await report([[first, 1]])
    await report([[second, 1]])
    expect(await report([[first, 2]])).toEqual([place(2)])
    await post('/vpn/devices/remove', { device: second })
    expect(await report([[first, 2]])).toEqual([])
    service.clock.advance(11 * 60_000)
    expect(await service.services.vpn.forgetPlaces(1000)).toBeGreaterThan(0)
    expect(await service.services.vpn.forgetPlaces(1000)).toBe(0)
  })
})
