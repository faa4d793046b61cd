import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { runCommand } from '../harness/turnpike.ts'

describe.each([...enginesOf('postgres')])('the operator and the VPN on %s', (engine) => {
  let service: Service
  let env: Record<string, string>
  beforeAll(async () => {
    service = await startService(engine)
    env = {
      TURNPIKE_DATA: service.place.folder,
      ...(engine === 'postgres' && { TURNPIKE_DATABASE_URL: service.place.address }),
    }
  })
  afterAll(() => service.stop())

  async function ask(...words: string[]) {
    const ended = await runCommand([...words, '--json'], env)
    return { ...ended, json: JSON.parse(ended.out) }
  }

  test('nodes are listed with their state, and their private keys are not', async () => {
    const { json, out } = await ask('node', 'list')
    expect(json.items.filter((each: { kind: string }) => each.kind === 'vpn')).toMatchObject([
      { kind: 'vpn', name: 'local', location: 'local', state: 'offline', last_seen_at: null },
    ])
    expect(out).not.toContain('private')
    expect((await runCommand(['node', 'list'], env)).out).toContain('never')
  })

  test('vpn show lists the devices of a subscription without their configurations', async () => {
    const { uuid, device } = (await service.post('/vpn/buy', { period: 1 })).data
    const shown = await ask('vpn', 'show', uuid)
    expect(shown.json).toMatchObject({ uuid, node: 'offline', devices: [{ device_id: device, ipv4: '10.66.0.2' }] })
    expect(shown.out).not.toContain('PrivateKey')
  })

  test('a subscription is disabled and enabled, and what does not exist is named', async () => {
    const { uuid } = (await service.post('/vpn/buy', { period: 1 })).data
    expect((await ask('vpn', 'disable', uuid)).json).toEqual({ uuid, disabled: true })
    expect((await service.get(`/vpn/info?uuid=${uuid}`)).data.status).toBe('DISABLED')
    expect((await ask('vpn', 'enable', uuid)).exit).toBe(0)
    expect((await service.get(`/vpn/info?uuid=${uuid}`)).data.status).toBe('ACTIVE')
    expect((await ask('vpn', 'show', '01a1dd1a-0b28-703c-aa0f-79ef0a539e32')).json.error.code).toBe('not_found')
    expect((await ask('vpn', 'show', 'x')).exit).toBe(1)
  })

  test('verify says how many subscriptions and devices it looked at', async () => {
    const { json, exit } = await ask('verify')
    expect(exit).toBe(0)
    expect(json.covered).toMatchObject({ subscriptions: 2, devices: 2 })
  })
})
