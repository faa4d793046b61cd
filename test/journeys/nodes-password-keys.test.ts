import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { hmacSha256 } from '../../src/adapters/crypto.ts'
import { hasPasswordMac } from '../../src/core/password-mac.ts'
import { engines } from '../harness/database.ts'
import { joinNode, type TestNode } from '../harness/node.ts'
import { type Service, startService } from '../harness/service.ts'

const keysOf = async (node: TestNode): Promise<Uint8Array[]> =>
  ((await node.page()).password_keys ?? []).map((key) => Uint8Array.fromHex(key))
const texts = (keys: readonly Uint8Array[]): string[] => keys.map((key) => key.toHex())
const isOf = (key: Uint8Array | undefined, { username, password }: { username: string; password: string }): boolean =>
  key !== undefined && hasPasswordMac(hmacSha256, [key], username, password)

describe.each([...engines])('password keys on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(() => service.stop())

  async function makeSubuser(login?: string): Promise<{ id: string; username: string; password: string }> {
    const { subuser, password } = (await service.post('/premium/subusers', login === undefined ? {} : { login })).data
    return { id: subuser.subuser_id, username: subuser.login, password }
  }

  test('passwords of bought proxies, of sub-users with a chosen login and after a reset have a MAC of the key that gateways have', async () => {
    const [key] = await keysOf(await joinNode(service))
    const bought = await service.post('/dedicated/buy', { country_code: 'DE', period: 30, count: 2, ipv: 4 })
    for (const proxy of bought.data.proxies) expect(isOf(key, proxy)).toBe(true)
    const [first] = bought.data.proxies
    const [renewed] = (await service.post('/dedicated/password/reset', { ids: [first.id] })).data.proxies
    expect([renewed.password === first.password, isOf(key, renewed)]).toEqual([false, true])
    const [made, chosen] = [await makeSubuser(), await makeSubuser('reseller_one')]
    expect([isOf(key, made), isOf(key, chosen)]).toEqual([true, true])
    const reset = (await service.post('/premium/password/reset', { subuser_id: chosen.id })).data
    expect([reset.password === chosen.password, isOf(key, { ...chosen, ...reset })]).toEqual([false, true])
  })

  test('VPN nodes receive no password key, and no log line and no row of the database has one', async () => {
    const [key] = texts(await keysOf(await joinNode(service)))
    expect(key).toMatch(/^[0-9a-f]{64}$/)
    expect((await (await joinNode(service, 'vpn')).page()).password_keys).toBeUndefined()
    expect(service.log.join('\n')).not.toContain(key as string)
    const [row] = await service.services.db.all<{ sealed: Uint8Array }>('SELECT * FROM password_keys')
    expect([row?.sealed.toHex(), Buffer.from(row?.sealed ?? []).toString()].join()).not.toContain(key as string)
  })

  test('revoking a gateway adds a key that gateways have 60 s before it signs and that replaces the earlier one an hour later', async () => {
    const [node, stolen] = [await joinNode(service), await joinNode(service)]
    const [before] = await keysOf(node)
    await service.services.fleet.revoke(stolen.name)
    const [next, ...rest] = await keysOf(node)
    expect(texts(rest)).toEqual(texts(before ? [before] : []))
    service.clock.advance(59_999)
    expect(isOf(before, await makeSubuser())).toBe(true)
    service.clock.advance(1)
    expect(isOf(next, await makeSubuser())).toBe(true)
    service.clock.advance(3_599_999)
    expect(texts(await keysOf(node))).toHaveLength(2)
    service.clock.advance(10_001)
    expect(texts(await keysOf(node))).toEqual(texts(next ? [next] : []))
  })

  test('a gateway has the key that signs and 3 more after ten revocations in a row', async () => {
    const node = await joinNode(service)
    const [signing] = await keysOf(node)
    const revoked = await Promise.all(Array.from({ length: 10 }, () => joinNode(service)))
    for (const { name } of revoked) await service.services.fleet.revoke(name)
    const keys = await keysOf(node)
    expect([keys.length, texts(keys).at(-1)]).toEqual([4, signing?.toHex()])
    expect(isOf(signing, await makeSubuser())).toBe(true)
  })
})
