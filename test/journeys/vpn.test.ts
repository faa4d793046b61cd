import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf, nodeIsSeen, openSecondShop, sellVpn } from '../harness/vpn.ts'
import {
  needWireguardTools,
  readConf,
  toolsWithinMs,
  wgPrivateKey,
  wgPublicKey,
  wgQuickStrip,
} from '../harness/wireguard.ts'

const unknownUuid = '01a1dd1a-0b28-703c-aa0f-79ef0a539e32'
const unknownDevice = `dev_${'0'.repeat(26)}`

describe.each([...enginesOf('sqlite')])('VPN operations on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    await needWireguardTools()
    service = await startService(engine)
  }, toolsWithinMs)
  afterAll(async () => {
    expect(await findingsOf(service)).toEqual([])
    await service.stop()
  })

  /** A new customer, so that tests do not share subscriptions. */
  const addCustomer = async (roubles = 100_000n) => {
    const { token } = await service.newCustomer(roubles)
    return {
      token,
      get: (path: string) => service.get(path, { token }),
      post: (path: string, body: unknown, key?: string) =>
        service.post(path, body, { token, ...(key !== undefined && { key }) }),
    }
  }

  test('GET /vpn/quote prices the four terms and refuses others with the list', async () => {
    const all = await service.get('/vpn/quote')
    expect(all.data.prices).toHaveLength(4)
    expect((await service.get('/vpn/quote?period=12')).data).toEqual({
      period: 12,
      price_rub: 2690,
      price_per_month_rub: 224.17,
      slots: 0,
      slots_price_rub: 0,
      available: false,
      valid_until: null,
    })
    expect((await service.get('/vpn/quote?period_months=3')).data.price_rub).toBe(799)
    const refused = await service.get('/vpn/quote?period=2')
    expect(refused.status).toBe(400)
    expect(refused.error.details).toEqual([
      {
        field: 'period',
        problem: 'must be one of 1, 3, 6, 12',
        reason: 'one_of',
        params: { allowed: [1, 3, 6, 12] },
        allowed: [1, 3, 6, 12],
        see: 'GET /vpn/quote',
      },
    ])
  })

  test('GET /vpn/info without a subscription answers the status NONE', async () => {
    const { get } = await addCustomer()
    const { data } = await get('/vpn/info')
    expect(data).toMatchObject({ status: 'NONE', uuid: null, expires_at: null, subscription_url: null, items: [] })
  })

  test('POST /vpn/buy answers a subscription, a device and a configuration that wg-quick accepts', async () => {
    const { get, post } = await addCustomer()
    const { data } = await post('/vpn/buy', { period: 1 })
    expect(data).toMatchObject({ period: 1, price_rub: 299, balance_rub: 99_701, status: 'ACTIVE', node: 'offline' })
    expect(data.expires_at).toBe('2026-02-15T12:00:00.000Z')
    const stripped = await wgQuickStrip(data.config)
    const conf = readConf(data.config)
    expect(stripped).toContain(`PrivateKey = ${conf['Interface']?.['PrivateKey']}`)
    expect(stripped).toContain(`PublicKey = ${conf['Peer']?.['PublicKey']}`)
    expect(stripped).not.toContain('DNS')
    const info = (await get('/vpn/info')).data
    expect(info.devices).toHaveLength(1)
    expect(info.devices[0].public_key).toBe(await wgPublicKey(conf['Interface']?.['PrivateKey'] ?? ''))
    expect(conf['Interface']?.['Address']).toBe(`${info.devices[0].ipv4}/32, ${info.devices[0].ipv6}/128`)
    expect(info).toMatchObject({ status: 'ACTIVE', uuid: data.uuid, subscription_url: data.subscription_url })
    expect(info.node).toBe('offline')
  })

  test('a configuration names the public key that the shop created for its node', async () => {
    const { post } = await addCustomer()
    const { data } = await post('/vpn/buy', { period: 1 })
    const [node] = await service.services.fleet.nodes('vpn')
    const conf = readConf(data.config)
    expect(conf['Peer']).toMatchObject({
      PublicKey: node?.publicKey ?? '',
      Endpoint: '127.0.0.1:51820',
      AllowedIPs: '0.0.0.0/0, ::/0',
      PersistentKeepalive: '25',
    })
    const privateKey = await service.services.fleet.privateKey(node!.id)
    expect(await wgPublicKey(privateKey ?? '')).toBe(node?.publicKey ?? '')
  })

  test('period and period_months mean the same, and different values answer 400', async () => {
    const { get, post } = await addCustomer()
    expect((await post('/vpn/buy', { period_months: 3 })).data.price_rub).toBe(799)
    expect((await post('/vpn/buy', { period: 3, period_months: 3 })).data.period).toBe(3)
    const two = { period: 3, period_months: 1 }
    for (const refused of [
      await post('/vpn/buy', two),
      await post('/vpn/renew', two),
      await post('/vpn/auto-renew', { enabled: true, ...two }),
      await get('/vpn/quote?period=3&period_months=1'),
    ]) {
      expect(refused.status).toBe(400)
      expect(refused.error.details[0].field).toBe('period_months')
    }
  })

  test('a VPN period of 0, -1 or 121 months gets the list of periods, as one that is not sold does', async () => {
    const { get, post } = await addCustomer()
    await post('/vpn/buy', { period: 1 })
    for (const period of [0, -1, 121, 2]) {
      const listed = [{ field: 'period', reason: 'one_of', allowed: [1, 3, 6, 12] }]
      for (const [path, more] of [
        ['/vpn/buy', {}],
        ['/vpn/renew', {}],
        ['/vpn/auto-renew', { enabled: true }],
      ] as const) {
        const { error } = await post(path, { period, ...more })
        expect([path, error.details]).toMatchObject([path, listed])
      }
      if (period >= 0) expect((await get(`/vpn/quote?period=${period}`)).error.details).toMatchObject(listed)
    }
  })

  test('VPN operations name all malformed fields at once and charge nothing', async () => {
    const { get, post } = await addCustomer()
    await post('/vpn/buy', { period: 1 })
    const malformed: [string, unknown, string[]][] = [
      ['/vpn/buy', {}, ['period']],
      ['/vpn/buy', { period: '1' }, ['period']],
      ['/vpn/buy', { period: 1.5 }, ['period']],
      ['/vpn/buy', { period: 0 }, ['period']],
      ['/vpn/buy', { period: 2 }, ['period']],
      ['/vpn/buy', { period: null }, ['period']],
      [
        '/vpn/buy',
        { name: 3, public_key: 'x', location: 'A b', auto_renew: 'yes' },
        ['name', 'public_key', 'location', 'auto_renew', 'period'],
      ],
      ['/vpn/buy', { period: 1, name: 'a\nb' }, ['name']],
      ['/vpn/buy', { period: 1, name: '' }, ['name']],
      ['/vpn/buy', { period: 1, location: 'atlantis' }, ['location']],
      ['/vpn/buy', { period: 1, public_key: `${'A'.repeat(43)}=` }, ['public_key']],
      ['/vpn/renew', {}, ['period']],
      ['/vpn/renew', { period: 1, uuid: 'me' }, ['uuid']],
      ['/vpn/renew', { period: 1, uuid: 5 }, ['uuid']],
      ['/vpn/renew', { period: 5 }, ['period']],
      ['/vpn/delete', { uuid: 'x' }, ['uuid']],
      ['/vpn/devices', { uuid: [], name: {}, public_key: 1, location: 2 }, ['uuid', 'name', 'public_key', 'location']],
      ['/vpn/devices', { location: 'atlantis' }, ['location']],
      ['/vpn/devices/remove', {}, ['device']],
      ['/vpn/devices/remove', { device: 'dev_1' }, ['device']],
      ['/vpn/link/reset', { uuid: 'x' }, ['uuid']],
      ['/vpn/auto-renew', {}, ['enabled']],
      ['/vpn/auto-renew', { enabled: 1 }, ['enabled']],
      ['/vpn/auto-renew', { enabled: true, period: 7 }, ['period']],
    ]
    for (const [path, body, fields] of malformed) {
      const refused = await post(path, body)
      expect([path, body, refused.status]).toEqual([path, body, 400])
      expect(refused.error.code).toBe('invalid_request')
      expect(refused.error.details.map((each: { field: string }) => each.field).toSorted()).toEqual(fields.toSorted())
    }
    for (const query of [
      'info?uuid=x',
      'config?device=dev_1',
      'config?format=gif',
      'config?location=A%20b',
      'config?location=atlantis',
      'quote?period=1e1',
      'quote?period=%2B1',
      'quote?period=1&period_months=3',
    ]) {
      const refused = await get(`/vpn/${query}`)
      expect([query, refused.status, refused.error?.code]).toEqual([query, 400, 'invalid_request'])
    }
    expect((await get('/balance')).data.balance_rub).toBe(99_701)
  })

  test('every VPN operation answers invalid_token without a token', async () => {
    for (const path of ['quote', 'info', 'config', 'locations']) {
      expect((await service.get(`/vpn/${path}`, { token: null })).error.code).toBe('invalid_token')
    }
    for (const path of ['buy', 'renew', 'delete', 'devices', 'devices/remove', 'link/reset', 'auto-renew']) {
      expect((await service.post(`/vpn/${path}`, { period: 1 }, { token: null })).error.code).toBe('invalid_token')
    }
  })

  test('another customer’s subscription and device answer the same 404 as unknown ones', async () => {
    const [mine, theirs] = [await addCustomer(), await addCustomer()]
    const bought = (await theirs.post('/vpn/buy', { period: 1 })).data
    await mine.post('/vpn/buy', { period: 1 })
    const same = async (ask: (uuid: string, device: string) => Promise<{ status: number; text: string }>) => {
      const [real, made] = [await ask(bought.uuid, bought.device), await ask(unknownUuid, unknownDevice)]
      expect(real.status).toBe(404)
      expect(real.text).toBe(made.text)
    }
    await same((uuid) => mine.get(`/vpn/info?uuid=${uuid}`))
    await same((uuid) => mine.get(`/vpn/config?uuid=${uuid}`))
    await same((_, device) => mine.get(`/vpn/config?device=${device}`))
    await same((uuid) => mine.post('/vpn/renew', { uuid, period: 1 }))
    await same((uuid) => mine.post('/vpn/delete', { uuid }))
    await same((uuid) => mine.get(`/vpn/delete/quote?uuid=${uuid}`))
    await same((uuid) => mine.post('/vpn/devices', { uuid }))
    await same((uuid, device) => mine.post('/vpn/devices/remove', { uuid, device }))
    await same((_, device) => mine.post('/vpn/devices/remove', { device }))
    await same((uuid) => mine.post('/vpn/link/reset', { uuid }))
    await same((uuid) => mine.post('/vpn/auto-renew', { uuid, enabled: true }))
    await same((uuid) => mine.post('/vpn/name', { uuid, name: 'Office' }))
    expect((await theirs.get('/vpn/info')).data.devices).toHaveLength(1)
  })

  test('POST /vpn/name names one of two subscriptions, and null removes the name', async () => {
    const { get, post } = await addCustomer()
    const { uuid } = (await post('/vpn/buy', { period: 1 })).data
    await post('/vpn/buy', { period: 3 })
    expect((await post('/vpn/name', { uuid, name: 'Офис 2' })).data).toMatchObject({ uuid, name: 'Офис 2' })
    const names = async () => (await get('/vpn/info')).data.items.map((each: { name: string | null }) => each.name)
    expect(await names()).toEqual(['Офис 2', null])
    const refused = await post('/vpn/name', { uuid, name: '' })
    expect([refused.status, refused.error.details[0].field]).toEqual([400, 'name'])
    await post('/vpn/name', { uuid, name: null })
    expect(await names()).toEqual([null, null])
  })

  test('GET /vpn/delete/quote answers the refund of a deletion at the same moment, and changes nothing', async () => {
    const { get, post } = await addCustomer()
    const { uuid } = (await post('/vpn/buy', { period: 1 })).data
    const quote = (await get('/vpn/delete/quote')).data
    expect(quote.uuid).toBe(uuid)
    expect(quote.refund_rub).toBeGreaterThan(0)
    expect((await get(`/vpn/delete/quote?uuid=${uuid}`)).data).toEqual(quote)
    expect((await post('/vpn/delete', {})).data.refunded_rub).toBe(quote.refund_rub)
    expect((await get(`/vpn/delete/quote?uuid=${uuid}`)).status).toBe(404)
  })

  test('a device of another subscription of the same customer answers 404', async () => {
    const { get, post } = await addCustomer()
    const [one, two] = [(await post('/vpn/buy', { period: 1 })).data, (await post('/vpn/buy', { period: 1 })).data]
    expect((await get(`/vpn/config?uuid=${one.uuid}&device=${two.device}`)).status).toBe(404)
    expect((await post('/vpn/devices/remove', { uuid: one.uuid, device: two.device })).status).toBe(404)
  })

  test('a sandbox without a VPN node quotes available: false and sells with a warning', async () => {
    const { get, post } = await addCustomer()
    expect((await get('/vpn/quote?period=1')).data.available).toBe(false)
    expect((await get('/vpn/quote')).data.available).toBe(false)
    const remedy = 'turnpike up --local-nodes vpn'
    for (const bought of [await post('/vpn/buy', { period: 1 }), await post('/vpn/renew', { period: 1 })]) {
      expect(bought.data.node).toBe('offline')
      const { warnings } = JSON.parse(bought.text)
      expect(warnings).toEqual([
        { field: 'node', problem: expect.stringContaining(remedy), reason: 'no_vpn_node_up', params: {} },
      ])
    }
  })

  test('VPN operations need the uuid when there are two subscriptions, and list both', async () => {
    const { get, post } = await addCustomer()
    const one = (await post('/vpn/buy', { period: 1 })).data
    const two = (await post('/vpn/buy', { period: 12 })).data
    for (const ask of [
      post('/vpn/delete', {}),
      post('/vpn/devices', {}),
      post('/vpn/link/reset', {}),
      post('/vpn/auto-renew', { enabled: false }),
      get('/vpn/config'),
    ]) {
      const refused = await ask
      expect(refused.error.details[0]).toMatchObject({
        field: 'uuid',
        allowed: [one.uuid, two.uuid].toSorted((a, b) => (a < b ? -1 : 1)),
      })
    }
    const info = (await get('/vpn/info')).data
    expect(info.uuid).toBe(one.uuid)
    expect(info.items.map((each: { uuid: string }) => each.uuid)).toEqual([one.uuid, two.uuid])
    expect((await get(`/vpn/info?uuid=${one.uuid.toUpperCase()}`)).data.items).toHaveLength(1)
  })

  test('POST /vpn/renew without uuid renews the active subscription that ends first', async () => {
    const { get, post } = await addCustomer()
    const top = async () => (await get('/vpn/info')).data.uuid
    const renewed = async () => (await post('/vpn/renew', { period: 1 })).data.uuid
    expect((await post('/vpn/renew', { period: 1 })).status).toBe(404)
    const long = (await post('/vpn/buy', { period: 3 })).data
    expect(await renewed()).toBe(long.uuid)
    const short = (await post('/vpn/buy', { period: 1 })).data
    expect([await top(), await renewed()]).toEqual([short.uuid, short.uuid])
    // A disabled subscription is not active, however early it ends.
    await service.services.vpn.setDisabled(short.uuid, true)
    expect([await top(), await renewed()]).toEqual([long.uuid, long.uuid])
    await service.services.vpn.setDisabled(short.uuid, false)
    // The short one ends after 2 months, the long one after 5: three renewals later they end together.
    expect([await renewed(), await renewed(), await renewed()]).toEqual([short.uuid, short.uuid, short.uuid])
    await post('/vpn/renew', { uuid: short.uuid, period: 1 })
    expect([await top(), await renewed()]).toEqual([long.uuid, long.uuid])
  })

  test('operations without uuid use the running subscription beside an ended one, except deletion', async () => {
    const { get, post } = await addCustomer()
    const ended = (await post('/vpn/buy', { period: 1 })).data
    service.clock.advanceDays(32)
    const running = (await post('/vpn/buy', { period: 1 })).data
    expect((await post('/vpn/devices', {})).data.uuid).toBe(running.uuid)
    expect((await get('/vpn/config')).data.uuid).toBe(running.uuid)
    expect((await post('/vpn/auto-renew', { enabled: true })).data.uuid).toBe(running.uuid)
    expect((await post('/vpn/renew', { period: 3 })).data.uuid).toBe(running.uuid)
    // Deletion cannot be undone and needs the uuid.
    expect((await post('/vpn/delete', {})).error.details[0].field).toBe('uuid')
    expect((await post('/vpn/delete', { uuid: ended.uuid })).data.uuid).toBe(ended.uuid)
    expect((await post('/vpn/delete', {})).data.uuid).toBe(running.uuid)
  })

  test('POST /vpn/buy and renew answer 402 with too little money and change nothing', async () => {
    const { get, post } = await addCustomer(300n)
    const refused = await post('/vpn/buy', { period: 12 })
    expect(refused.status).toBe(402)
    expect(refused.error.details).toEqual({ required_rub: 2690, balance_rub: 300, charged: false })
    expect((await get('/vpn/info')).data.status).toBe('NONE')
    const { data } = await post('/vpn/buy', { period: 1 })
    expect((await post('/vpn/renew', { period: 1 })).status).toBe(402)
    expect((await get('/vpn/info')).data.expires_at).toBe(data.expires_at)
    expect((await get('/balance')).data.balance_rub).toBe(1)
  })

  test('POST /vpn/buy and renew replay the first answer for a key and act once', async () => {
    const { get, post } = await addCustomer()
    const first = await post('/vpn/buy', { period: 1 }, 'vpn-1')
    const again = await post('/vpn/buy', { period: 1 }, 'vpn-1')
    expect(again.text).toBe(first.text)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect((await post('/vpn/buy', { period: 3 }, 'vpn-1')).status).toBe(422)
    const renewed = await post('/vpn/renew', { period: 1 }, 'vpn-2')
    expect((await post('/vpn/renew', { period: 1 }, 'vpn-2')).text).toBe(renewed.text)
    expect((await get('/vpn/info')).data.expires_at).toBe(renewed.data.expires_at)
    expect((await get('/balance')).data.balance_rub).toBe(100_000 - 2 * 299)
  })

  test('no table and no stored answer has a private key or link secret in plain text', async () => {
    const { post } = await addCustomer()
    const { data } = await post('/vpn/buy', { period: 1 }, 'sealed')
    const key = readConf(data.config)['Interface']?.['PrivateKey'] ?? ''
    const secret = data.subscription_url.split('/').at(-1)
    const { db } = service.services
    for (const table of ['answers', 'orders', 'vpn_peers', 'vpn_subscriptions', 'nodes', 'postings']) {
      const rows = await db.all<Record<string, unknown>>(`SELECT * FROM ${table}`)
      const texts = rows.flatMap((row) =>
        Object.values(row).map((value) =>
          value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value),
        ),
      )
      expect(rows.length).toBeGreaterThan(0)
      for (const text of texts) {
        expect(text.includes(key)).toBe(false)
        expect(text.includes(secret)).toBe(false)
      }
    }
  })

  test('POST /vpn/renew adds to the time left, and starts now after the end', async () => {
    const { get, post } = await addCustomer()
    const bought = (await post('/vpn/buy', { period: 1 })).data
    const renewed = (await post('/vpn/renew', { period: 3 })).data
    const day = (text: string) => text.slice(0, 10)
    const months = (from: string, count: number) => {
      const at = new Date(from)
      return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + count, at.getUTCDate()))
        .toISOString()
        .slice(0, 10)
    }
    expect(day(renewed.expires_at)).toBe(months(bought.expires_at, 3))
    expect(renewed).toMatchObject({ uuid: bought.uuid, device: bought.device, config: bought.config })
    service.clock.advanceDays(150)
    expect((await get('/vpn/info')).data.status).toBe('EXPIRED')
    expect((await post('/vpn/devices', {})).error.code).toBe('conflict')
    const late = (await post('/vpn/renew', { period: 1 })).data
    expect(late.status).toBe('ACTIVE')
    expect(Date.parse(late.expires_at)).toBeGreaterThan(service.clock.nowMs + 27 * 86_400_000)
    expect(Date.parse(late.expires_at)).toBeLessThan(service.clock.nowMs + 32 * 86_400_000)
  })

  test('renewal, configuration and deletion without a subscription answer 404', async () => {
    const { get, post } = await addCustomer()
    expect((await post('/vpn/renew', { period: 1 })).status).toBe(404)
    expect((await post('/vpn/delete', {})).status).toBe(404)
    expect((await get('/vpn/config')).status).toBe(404)
    expect((await get('/balance')).data.balance_rub).toBe(100_000)
    const { device } = (await post('/vpn/buy', { period: 1 })).data
    await post('/vpn/devices/remove', { device })
    const bare = await get('/vpn/config')
    expect([bare.status, bare.error.message]).toEqual([
      404,
      'This subscription has no device. Add one with POST /vpn/devices.',
    ])
  })

  test('POST /vpn/renew answers conflict above 20 years', async () => {
    const { post } = await addCustomer()
    await post('/vpn/buy', { period: 12 })
    let answer = await post('/vpn/renew', { period: 12 })
    for (let years = 2; answer.status === 200 && years < 30; years += 1)
      answer = await post('/vpn/renew', { period: 12 })
    expect(answer.error).toMatchObject({ code: 'conflict', details: { charged: false } })
  })

  test('a subscription has up to 5 devices with own keys, is ACTIVE with 5, and a removed one makes room', async () => {
    const { get, post } = await addCustomer()
    const { device } = (await post('/vpn/buy', { period: 1, name: 'first' })).data
    const added = []
    for (let index = 2; index <= 5; index += 1)
      added.push((await post('/vpn/devices', { name: `phone ${index}` })).data)
    expect(added.at(-1)).toMatchObject({ device_limit: 5, devices_left: 0 })
    const full = await post('/vpn/devices', {})
    expect(full.status).toBe(409)
    expect(full.error.details).toEqual({ device_limit: 5, charged: false })
    const info = (await get('/vpn/info')).data
    expect(info).toMatchObject({ status: 'ACTIVE', limited_by: ['devices'] })
    expect(new Set(info.devices.map((each: { ipv4: string }) => each.ipv4)).size).toBe(5)
    expect(new Set(info.devices.map((each: { public_key: string }) => each.public_key)).size).toBe(5)
    const removed = (await post('/vpn/devices/remove', { device })).data
    expect(removed).toMatchObject({ removed: device })
    expect(removed.devices).toHaveLength(4)
    expect((await get('/vpn/info')).data).toMatchObject({ status: 'ACTIVE', limited_by: [] })
    expect((await post('/vpn/devices/remove', { device })).status).toBe(404)
    expect((await get(`/vpn/config?device=${device}`)).status).toBe(404)
    expect((await post('/vpn/devices', {})).status).toBe(200)
  })

  test('a customer’s own public key is stored without a private key, and no other device can use it', async () => {
    const [mine, theirs] = [await addCustomer(), await addCustomer()]
    const publicKey = await wgPublicKey(await wgPrivateKey())
    const bought = (await mine.post('/vpn/buy', { period: 1, public_key: publicKey })).data
    expect(bought.config).not.toMatch(/^PrivateKey/m)
    await wgQuickStrip(bought.config)
    const info = (await mine.get('/vpn/info')).data
    expect(info.devices[0]).toMatchObject({ public_key: publicKey, own_key: true })
    const refused = await theirs.post('/vpn/buy', { period: 1, public_key: publicKey })
    expect(refused.error).toMatchObject({ code: 'conflict', details: { charged: false } })
    expect((await theirs.get('/balance')).data.balance_rub).toBe(100_000)
    expect((await mine.post('/vpn/devices', { public_key: publicKey })).error.code).toBe('conflict')
    await mine.post('/vpn/devices/remove', { device: bought.device })
    expect((await theirs.post('/vpn/buy', { period: 1, public_key: publicKey })).status).toBe(200)
  })

  test('a node’s public key is refused for a device', async () => {
    const { post } = await addCustomer()
    const [node] = await service.services.fleet.nodes('vpn')
    expect((await post('/vpn/buy', { period: 1, public_key: node?.publicKey })).error.code).toBe('conflict')
  })

  test('GET /vpn/config answers text and QR codes for a terminal, as SVG and as PNG', async () => {
    const { get, post } = await addCustomer()
    const { config, device } = (await post('/vpn/buy', { period: 1 })).data
    const conf = (await get('/vpn/config')).data
    expect(conf).toMatchObject({ device, location: 'local', format: 'conf', encoding: 'utf-8', config })
    expect((await get('/vpn/config?format=qr')).data.config).toContain('█')
    const svg = (await get(`/vpn/config?format=svg&device=${device}`)).data
    expect(svg.config).toStartWith('<svg ')
    const png = (await get('/vpn/config?format=png')).data
    expect(png).toMatchObject({ media_type: 'image/png', encoding: 'base64' })
    expect(Buffer.from(png.config, 'base64').subarray(1, 4).toString()).toBe('PNG')
  })

  test('POST /vpn/delete erases the keys and refunds the unused part of every term', async () => {
    const { get, post } = await addCustomer()
    const { uuid } = (await post('/vpn/buy', { period: 1 })).data
    await post('/vpn/renew', { period: 12 })
    await post('/vpn/devices', {})
    const days = (Date.parse((await get('/vpn/info')).data.expires_at) - service.clock.nowMs) / 86_400_000
    service.clock.advanceDays(10)
    const { data } = await post('/vpn/delete', { uuid })
    // The whole year, and the rest of the month.
    expect(data.refunded_rub).toBeGreaterThan(2690 + (299 * 17) / 31)
    expect(data.refunded_rub).toBeLessThan(2690 + (299 * 22) / 28)
    expect(data.balance_rub).toBe(100_000 - 299 - 2690 + data.refunded_rub)
    expect(days).toBeGreaterThan(380)
    expect((await get('/vpn/info')).data.status).toBe('NONE')
    expect((await post('/vpn/delete', { uuid })).status).toBe(404)
    const { db } = service.services
    const left = await db.all(
      'SELECT id FROM vpn_peers WHERE subscription_uuid = $1 AND (private_key IS NOT NULL OR access_keys IS NOT NULL)',
      [uuid],
    )
    expect(left).toEqual([])
    const refunds = (await get('/transactions')).data.transactions.filter(
      (each: { kind: string }) => each.kind === 'refund',
    )
    expect(refunds).toHaveLength(2)
  })

  test('POST /vpn/delete refunds nothing of an order that an operator refunded', async () => {
    const { get, post } = await addCustomer()
    const { order_id: order, uuid } = (await post('/vpn/buy', { period: 1 })).data
    await service.services.orders.refund(order, 'all', 'sorry')
    expect((await post('/vpn/delete', { uuid })).data.refunded_rub).toBe(0)
    expect((await get('/balance')).data.balance_rub).toBe(100_000)
  })

  test('a disabled subscription cannot be renewed or deleted, and is active again when enabled', async () => {
    const { get, post } = await addCustomer()
    const { uuid } = (await post('/vpn/buy', { period: 1 })).data
    await service.services.vpn.setDisabled(uuid, true)
    expect((await get('/vpn/info')).data.status).toBe('DISABLED')
    for (const path of ['/vpn/renew', '/vpn/delete', '/vpn/devices']) {
      expect((await post(path, { period: 1 })).error.code).toBe('conflict')
    }
    await service.services.vpn.setDisabled(uuid, false)
    expect((await get('/vpn/info')).data.status).toBe('ACTIVE')
  })

  test('the log contains no private key and no link secret', async () => {
    const { get, post } = await addCustomer()
    const bought = (await post('/vpn/buy', { period: 1 })).data
    const added = (await post('/vpn/devices', {})).data
    await get('/vpn/config')
    await fetch(bought.subscription_url)
    await fetch(`${bought.subscription_url}/more`)
    const log = service.log.join('')
    const secrets = [bought.config, added.config].map((text) => readConf(text)['Interface']?.['PrivateKey'] ?? 'none')
    for (const secret of [...secrets, bought.subscription_url.split('/').at(-1)]) {
      expect(secret.length).toBeGreaterThan(20)
      expect(log.includes(secret)).toBe(false)
    }
  })

  test('GET /orders/{id} of a VPN shows the request and the calculation', async () => {
    const { get, post } = await addCustomer()
    const { order_id: order, uuid } = (await post('/vpn/buy', { period: 6, location: 'local' })).data
    const { data } = await get(`/orders/${order}`)
    expect(data).toMatchObject({
      product: 'vpn',
      action: 'buy',
      price_rub: 1490,
      request: { period: 6, location: 'local' },
    })
    expect(data.calculation).toMatchObject({ months: 6, uuid })
  })

  test('GET /vpn/locations lists the nodes’ locations, and a configuration can name any of them', async () => {
    const { db, fleet } = service.services
    const { get, post } = await addCustomer()
    const berlin = await db.transact((tx) =>
      fleet.add(tx, {
        kind: 'vpn',
        name: `berlin-${engine}`,
        location: 'berlin',
        countryCode: 'DE',
        city: 'Berlin',
        endpoint: { host: '2001:db8::1', port: 443 },
      }),
    )
    expect((await get('/vpn/locations')).data.locations).toEqual([
      { location: 'berlin', country_code: 'DE', city: 'Berlin', node: 'offline' },
      { location: 'local', country_code: null, city: null, node: 'offline' },
    ])
    const { config } = (await post('/vpn/buy', { period: 1, location: 'berlin' })).data
    expect(readConf(config)['Peer']).toMatchObject({ Endpoint: '[2001:db8::1]:443', PublicKey: berlin.publicKey ?? '' })
    await wgQuickStrip(config)
    const elsewhere = (await get('/vpn/config?location=local')).data
    expect(readConf(elsewhere.config)['Peer']?.['Endpoint']).toBe('127.0.0.1:51820')
    await nodeIsSeen(service, berlin.id)
    service.clock.advance(1000)
    expect((await get('/vpn/info')).data.node).toBe('online')
    service.clock.advance(120_000)
    expect((await get('/vpn/info')).data.node).toBe('offline')
  })

  test('POST /vpn/delete refunds nothing of a term sold without refund', async () => {
    await sellVpn(service, { months: { 1: 299, 3: 799, 6: 1490, 12: 2690 }, device_limit: 5 })
    const { post } = await addCustomer()
    await post('/vpn/buy', { period: 12 })
    expect((await post('/vpn/delete', {})).data.refunded_rub).toBe(0)
    await sellVpn(service, { months: { 1: 299, 3: 799, 6: 1490, 12: 2690 }, device_limit: 5, refund: 'pro_rata' })
  })

  test('a second process on the database reads the same subscription and configuration', async () => {
    const { post, get } = await addCustomer()
    const bought = (await post('/vpn/buy', { period: 1 })).data
    const otherShop = await openSecondShop(service)
    try {
      const shown = await otherShop.services.vpn.show(bought.uuid)
      expect(shown.devices[0]?.id).toBe(bought.device)
      const { configuration } = await otherShop.services.vpn.configuration(shown.subscription.customer, {})
      expect(configuration.text).toBe((await get('/vpn/config')).data.config)
    } finally {
      await otherShop.stop()
    }
  })
})

describe.each([...enginesOf('sqlite')])('VPN operations in production on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine, { TURNPIKE_SANDBOX: 'off', TURNPIKE_VPN_HOST: 'vpn.example.net' })
  })
  afterAll(() => service.stop())

  test('a production shop sells, renews and adds devices only while a VPN node is live', async () => {
    const { token } = await service.newCustomer(1000n)
    const { db, fleet, pricing } = service.services
    await db.transact((tx) => pricing.apply(tx, { vpn: { months: { 1: 100 }, refund: 'pro_rata' } }))
    const node = await db.transact((tx) => fleet.add(tx, { kind: 'vpn', name: 'one', location: 'here' }))
    const refused = await service.post('/vpn/buy', { period: 1 }, { token })
    expect(refused.status).toBe(503)
    expect(refused.error).toMatchObject({ code: 'unavailable', details: { charged: false } })
    expect((await service.get('/vpn/quote?period=1', { token })).data.available).toBe(false)
    await nodeIsSeen(service, node.id)
    service.clock.advance(1000)
    expect((await service.get('/vpn/quote?period=1', { token })).data.available).toBe(true)
    const bought = await service.post('/vpn/buy', { period: 1 }, { token })
    expect(bought.data).toMatchObject({ status: 'ACTIVE', node: 'online' })
    expect(bought.text).not.toContain('"warnings"')
    service.clock.advance(91_000)
    expect((await service.post('/vpn/renew', { period: 1 }, { token })).error.code).toBe('unavailable')
    expect((await service.post('/vpn/devices', {}, { token })).error.code).toBe('unavailable')
    expect((await service.get('/vpn/info', { token })).data).toMatchObject({ status: 'ACTIVE', node: 'offline' })
    expect((await service.get('/balance', { token })).data.balance_rub).toBe(900)
    await nodeIsSeen(service, node.id)
    expect((await service.post('/vpn/renew', { period: 1 }, { token })).status).toBe(200)
    expect(await findingsOf(service)).toEqual([])
  })
})
