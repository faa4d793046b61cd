import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { HandClock } from '../../../test/harness/clock.ts'
import { engines, openTestDatabase } from '../../../test/harness/database.ts'
import { failureOf } from '../../../test/harness/failure.ts'
import { makeSecret } from '../../../test/harness/node.ts'
import { wire } from '../../../test/harness/wired.ts'
import type { Services } from '../../app/shop/services.ts'
import { keyLastsMs } from './rules.ts'

const version = '0.0.0'

describe.each([...engines])('joining of nodes on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  let services: Services
  let otherShop: Services
  const clock = new HandClock()
  let count = 0

  beforeAll(async () => {
    opened = await openTestDatabase(engine)
    services = wire(opened.db, clock)
    otherShop = wire(opened.db, clock)
  })
  afterAll(() => opened.close())

  async function newNode() {
    count += 1
    const name = `node-${count}`
    await services.db.transact((tx) => services.fleet.add(tx, { kind: 'gateway', name, location: 'here' }))
    const { text: key } = await services.fleet.issueKey(name)
    return { name, key, secret: makeSecret() }
  }
  const refusalOf = async (work: Promise<unknown>) => {
    const failure = (await failureOf(work)) as { code?: string; message: string }
    return { code: failure.code, message: failure.message }
  }
  const invalid = { code: 'invalid_join_key' }

  test('a join key has 40 base-32 digits, and the database stores neither it nor the secret of the node', async () => {
    const { name, key, secret } = await newNode()
    expect(key).toMatch(/^tpj_[0-9a-hjkmnp-tv-z]{40}$/)
    await services.fleet.join(key, secret, version)
    const row = await services.db.first('SELECT * FROM nodes WHERE name = $1', [name])
    const text =
      Bun.inspect(row, { depth: 9 }) + JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? 0 : value))
    expect(text).not.toContain(key.slice(4))
    expect(text).not.toContain(secret.slice(4))
  })

  test('a node that joins with a key is authenticated by its secret afterwards, and not before', async () => {
    const { name, key, secret } = await newNode()
    expect(await refusalOf(services.fleet.authenticate(secret))).toMatchObject({ code: 'invalid_token' })
    expect(await services.fleet.join(key, secret, version)).toMatchObject({ name, kind: 'gateway' })
    expect(await services.fleet.authenticate(secret)).toMatchObject({ name, lastSeenAt: clock.nowMs, version })
  })

  test('a node whose join answer was lost joins again with the same secret until the key expires', async () => {
    const { key, secret } = await newNode()
    const first = await services.fleet.join(key, secret, version)
    clock.advance(keyLastsMs - 1)
    expect((await otherShop.fleet.join(key, secret, version)).id).toBe(first.id)
    clock.advance(1)
    expect(await refusalOf(services.fleet.join(key, secret, version))).toMatchObject(invalid)
    expect((await services.fleet.authenticate(secret)).id).toBe(first.id)
  })

  test('an unknown, expired, used or revoked join key and one of a closed node get the same refusal', async () => {
    const [used, expired, closed, revoked] = [await newNode(), await newNode(), await newNode(), await newNode()]
    await services.fleet.join(used.key, used.secret, version)
    await services.fleet.close(closed.name)
    await services.fleet.revoke(revoked.name)
    const refusals = [
      await refusalOf(services.fleet.join(used.key, makeSecret(), version)),
      await refusalOf(services.fleet.join(`tpj_${'0'.repeat(40)}`, makeSecret(), version)),
      await refusalOf(services.fleet.join(closed.key, closed.secret, version)),
      await refusalOf(services.fleet.join(revoked.key, revoked.secret, version)),
    ]
    clock.advance(keyLastsMs)
    refusals.push(await refusalOf(services.fleet.join(expired.key, expired.secret, version)))
    for (const each of refusals) expect(each).toEqual(refusals[0] as never)
    expect(refusals[0]).toMatchObject(invalid)
  })

  test('exactly one of 8 concurrent joins with one key and different secrets succeeds', async () => {
    const { key } = await newNode()
    const secrets = Array.from({ length: 8 }, makeSecret)
    const outcomes = await Promise.allSettled(
      secrets.map((secret, index) => (index % 2 ? services : otherShop).fleet.join(key, secret, version)),
    )
    expect(outcomes.filter((each) => each.status === 'fulfilled')).toHaveLength(1)
    const known = await Promise.allSettled(secrets.map((secret) => services.fleet.authenticate(secret)))
    expect(known.map((each) => each.status)).toEqual(outcomes.map((each) => each.status))
  })

  test('a second node cannot join with the secret of another node', async () => {
    const [first, second] = [await newNode(), await newNode()]
    await services.fleet.join(first.key, first.secret, version)
    expect(await refusalOf(services.fleet.join(second.key, first.secret, version))).toMatchObject(invalid)
    expect(await services.fleet.authenticate(first.secret)).toMatchObject({ name: first.name })
  })

  test('a new join key invalidates the previous one, and the secret stays valid until a join replaces it', async () => {
    const { name, key, secret } = await newNode()
    const { text: second } = await services.fleet.issueKey(name)
    expect(await refusalOf(services.fleet.join(key, secret, version))).toMatchObject(invalid)
    await services.fleet.join(second, secret, version)
    const { text: third } = await services.fleet.issueKey(name)
    expect(await services.fleet.authenticate(secret)).toMatchObject({ name })
    const fresh = makeSecret()
    await services.fleet.join(third, fresh, version)
    expect(await services.fleet.authenticate(fresh)).toMatchObject({ name })
    expect(await refusalOf(services.fleet.authenticate(secret))).toMatchObject({ code: 'invalid_token' })
  })

  test.each(['revoke', 'close'] as const)(
    'a node that another process disables with %s is refused after 999 ms',
    async (how) => {
      const { name, key, secret } = await newNode()
      await services.fleet.join(key, secret, version)
      await services.fleet.authenticate(secret)
      await otherShop.fleet[how](name)
      clock.advance(999)
      expect(await refusalOf(services.fleet.authenticate(secret))).toMatchObject({ code: 'invalid_token' })
      expect(await refusalOf(otherShop.fleet.authenticate(secret))).toMatchObject({ code: 'invalid_token' })
    },
  )

  test('a closed node keeps its secret when it is opened again, and a revoked node must join again', async () => {
    const { name, key, secret } = await newNode()
    await services.fleet.join(key, secret, version)
    await services.fleet.close(name)
    expect(await refusalOf(services.fleet.issueKey(name))).toMatchObject({ code: 'conflict' })
    await services.fleet.open(name)
    expect(await services.fleet.authenticate(secret)).toMatchObject({ name })
    await services.fleet.revoke(name)
    await services.fleet.open(name)
    expect(await refusalOf(services.fleet.authenticate(secret))).toMatchObject({ code: 'invalid_token' })
    expect(await refusalOf(services.fleet.join(key, secret, version))).toMatchObject(invalid)
    await services.fleet.join((await services.fleet.issueKey(name)).text, secret, version)
    expect(await services.fleet.authenticate(secret)).toMatchObject({ name })
  })

  test('authenticate() refuses every text that is not the exact secret of a node', async () => {
    const { key, secret } = await newNode()
    await services.fleet.join(key, secret, version)
    for (const text of [undefined, '', key, secret.slice(0, -1), `${secret}0`, secret.toUpperCase(), makeSecret()]) {
      expect(await refusalOf(services.fleet.authenticate(text))).toMatchObject({ code: 'invalid_token' })
    }
  })

  test('a late report of an earlier boot is ignored, and the bytes and the stopping state of a boot never go back', async () => {
    const { name } = await newNode()
    const { id } = (await services.fleet.findByName(name)) ?? { id: undefined }
    if (!id) throw new Error('the node is not there')
    const report = (boot: string, tunnels: number, totalBytes: number, isStopping = false) =>
      services.fleet.seen(id, {
        version,
        health: { boot, tunnels, lagMs: 5, totalBytes, hopBytes: 0, isStopping, maxPorts: null, tls: null },
      })
    const health = async () => (await services.fleet.findByName(name))?.health
    await report('boot-1', 1, 100)
    await report('boot-1', 2, 90)
    expect(await health()).toEqual({
      boot: 'boot-1',
      tunnels: 2,
      lagMs: 5,
      totalBytes: 100,
      hopBytes: 0,
      isStopping: false,
      maxPorts: null,
      interfaceMegabits: null,
      tls: null,
    })
    await report('boot-2', 3, 10)
    await report('boot-1', 9, 999)
    expect(await health()).toMatchObject({ boot: 'boot-2', tunnels: 3, totalBytes: 10, isStopping: false })
    await report('boot-2', 3, 10, true)
    await report('boot-2', 2, 10)
    expect(await health()).toMatchObject({ boot: 'boot-2', tunnels: 2, isStopping: true })
    await report('boot-3', 0, 0)
    expect(await health()).toMatchObject({ boot: 'boot-3', isStopping: false })
  })

  test('the figures of earlier boots add up, and tunnels of a draining boot count for 10 s after its report', async () => {
    const { name } = await newNode()
    const { id } = (await services.fleet.findByName(name)) ?? { id: undefined }
    if (!id) throw new Error('the node is not there')
    const healthOf = (boot: string, tunnels: number, totalBytes: number, hopBytes: number) => {
      return { boot, tunnels, lagMs: 5, totalBytes, hopBytes, isStopping: false, maxPorts: null, tls: null }
    }
    const seen = (...of: Parameters<typeof healthOf>) => services.fleet.seen(id, { version, health: healthOf(...of) })
    const drains = (...of: Parameters<typeof healthOf>) => services.fleet.noteDraining(id, healthOf(...of))
    const earlier = async () => (await services.fleet.earlierFigures()).get(id)
    await seen('boot-1', 7, 100, 30)
    expect(await earlier()).toBeUndefined()
    await drains('boot-1', 7, 110, 30)
    expect(await earlier()).toBeUndefined()
    await seen('boot-2', 1, 10, 3)
    expect(await earlier()).toEqual({ node: id, tunnels: 7, totalBytes: 110, hopBytes: 30 })
    await drains('boot-1', 2, 150, 40)
    await drains('boot-1', 3, 140, 35)
    await seen('boot-3', 0, 0, 0)
    expect(await earlier()).toEqual({ node: id, tunnels: 3, totalBytes: 160, hopBytes: 43 })
    expect((await services.fleet.findByName(name))?.health).toMatchObject({ boot: 'boot-3', tunnels: 0 })
    clock.advance(10_001)
    expect(await earlier()).toEqual({ node: id, tunnels: 0, totalBytes: 160, hopBytes: 43 })
  })

  test('a node’s name is unique and has the form of a host name', async () => {
    const { name } = await newNode()
    const add = (text: string) =>
      services.db.transact((tx) => services.fleet.add(tx, { kind: 'gateway', name: text, location: 'here' }))
    expect(await refusalOf(add(name))).toMatchObject({ code: 'conflict' })
    for (const bad of ['', 'a b', '-a', 'a-', 'Ä', 'a/b', 'a'.repeat(64)]) {
      expect(await failureOf(add(bad))).toBeInstanceOf(RangeError)
    }
    expect(await refusalOf(services.fleet.issueKey('nobody'))).toMatchObject({ code: 'not_found' })
  })
})
