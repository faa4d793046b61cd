import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { runCommand, runJson, testDatabaseEnv } from '../harness/turnpike.ts'

describe.each([...enginesOf('postgres')])('VPN commands on %s', (engine) => {
  let service: Service
  let env: Record<string, string>
  beforeAll(async () => {
    service = await startService(engine)
    env = testDatabaseEnv(service.testDatabase)
  })
  afterAll(() => service.stop())

  const run = (...args: string[]) => runJson(args, env)

  test('node list shows the state of a VPN node and no private key', async () => {
    const { json, out } = await run('node', 'list')
    expect(json.items.filter((each: { kind: string }) => each.kind === 'vpn')).toMatchObject([
      { kind: 'vpn', name: 'local', location: 'local', state: 'offline', last_seen_at: null },
    ])
    expect(out).not.toContain('private')
    expect((await runCommand(['node', 'list'], env)).out).toContain('never')
  })

  test('vpn show lists the devices of a subscription without their configurations', async () => {
    const { uuid, device } = (await service.post('/vpn/buy', { period: 1 })).data
    const shown = await run('vpn', 'show', uuid)
    expect(shown.json).toMatchObject({ uuid, node: 'offline', devices: [{ device_id: device, ipv4: '10.66.0.2' }] })
    expect(shown.out).not.toContain('PrivateKey')
  })

  test('vpn disable and enable change the status, and an unknown uuid answers not_found', async () => {
    const { uuid } = (await service.post('/vpn/buy', { period: 1 })).data
    expect((await run('vpn', 'disable', uuid)).json).toEqual({ uuid, disabled: true })
    expect((await service.get(`/vpn/info?uuid=${uuid}`)).data.status).toBe('DISABLED')
    expect((await run('vpn', 'enable', uuid)).exit).toBe(0)
    expect((await service.get(`/vpn/info?uuid=${uuid}`)).data.status).toBe('ACTIVE')
    expect((await run('vpn', 'show', '01a1dd1a-0b28-703c-aa0f-79ef0a539e32')).json.error.code).toBe('not_found')
    expect((await run('vpn', 'show', 'x')).exit).toBe(1)
  })

  test('refund --end --dry-run of a renewal says that the whole subscription would end', async () => {
    const { uuid } = (await service.post('/vpn/buy', { period: 1 })).data
    const { order_id } = (await service.post('/vpn/renew', { uuid, period: 3 })).data
    const { out } = await runCommand(['refund', order_id, '--end', '--note', 'asked', '--dry-run'], env)
    expect(out).toMatch(new RegExp(`Dry run.*\\n.*whole VPN subscription ${uuid} ends, with 1 device;`))
    expect((await service.get(`/vpn/info?uuid=${uuid}`)).data.status).toBe('ACTIVE')
  })

  test('verify counts 3 subscriptions and 3 devices', async () => {
    const { json, exit } = await run('verify')
    expect(exit).toBe(0)
    expect(json.covered).toMatchObject({ subscriptions: 3, devices: 3 })
  })
})
