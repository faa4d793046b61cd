import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../harness/gateway.ts'
import { fencesOf } from '../harness/markdown.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { installTurnpike, type OwnMachine, openOwnMachine, packagedPath } from '../harness/own-machine.ts'
import { runtimeCommand, untilTrue, withoutVpn } from '../harness/turnpike.ts'

const { test, isPossible } = await findNetnsSupport('tests of a runbook on a machine of its own')

const root = join(import.meta.dir, '../..')
const token = 'tp_test_of_the_runbook'
const port = freePort()
const settings = {
  ...withoutVpn,
  TURNPIKE_SANDBOX: 'on',
  TURNPIKE_SANDBOX_TOKEN: token,
  TURNPIKE_PORT: String(port),
  TURNPIKE_GATEWAY_PORT: String(freePort()),
  TURNPIKE_METRICS_LISTEN: '',
}

/** The commands of the runbook. BACKUP is the name of a backup. */
const runbook = (): string[] => {
  const text = readFileSync(join(root, 'docs/operate/backup-and-upgrade.md'), 'utf8')
  const fence = fencesOf(text).find(({ lines }) => lines.some((line) => line.includes('turnpike.old')))
  return (fence?.lines ?? []).map((line) => line.replace(/^server# /, '').replace('BACKUP', 'before'))
}

describe('the runbook for a restore in place of a live folder', () => {
  let machine: OwnMachine
  let service: Bun.Subprocess | undefined

  const sh = async (line: string): Promise<string> => {
    const { code, out, err } = await machine.inside(['sh', '-c', `PATH=${packagedPath}:$PATH; ${line}`])
    expect({ line, code, err: code === 0 ? '' : err }).toEqual({ line, code: 0, err: '' })
    return out
  }
  /** What systemd does for the unit `turnpike`. */
  const systemctl = {
    async start() {
      const drop = ['setpriv', '--reuid', 'turnpike', '--regid', 'turnpike', '--clear-groups']
      service = Bun.spawn(machine.toInside([...drop, ...runtimeCommand, 'up']), {
        env: { PATH: process.env['PATH'] ?? '', ...settings, TURNPIKE_DATA: '/var/lib/turnpike' },
        stdin: 'ignore',
        stdout: 'ignore',
        stderr: 'ignore',
      })
      expect(await untilTrue(isSelling)).toBeTrue()
    },
    async stop() {
      service?.kill('SIGTERM')
      expect(await service?.exited).toBe(0)
      service = undefined
    },
  }
  async function call(path: string, body?: object): Promise<{ status: number; data: Record<string, unknown> }> {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
      method: body ? 'POST' : 'GET',
      headers: {
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': crypto.randomUUID(),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, data: ((await answer.json()) as { data: Record<string, unknown> }).data }
  }
  const order = { country_code: 'DE', period: 30, count: 1, ipv: 4 }
  /** The gateway serves its addresses, so that they are sold. */
  const isSelling = () =>
    call('/dedicated/count?country_code=DE&ipv=4').then(
      ({ status, data }) => status === 200 && Number(data['count']) > 0,
      () => false,
    )
  const proxies = async () => ((await call('/dedicated/list')).data['proxies'] as { id: number }[]).map(({ id }) => id)

  const nodeOf = async (data: string) =>
    (JSON.parse(await sh(`cat ${data}/gateway/node.json`)) as { node: string }).node

  beforeAll(async () => {
    if (!isPossible) return
    machine = await openOwnMachine({ hasOwnNetwork: false })
    await installTurnpike(machine, settings)
  })
  afterAll(async () => {
    service?.kill('SIGTERM')
    await service?.exited
    await machine?.close()
  })

  test('the runbook brings the state of the backup back, and the gateway of the machine serves as the same node', async () => {
    await systemctl.start()
    expect((await call('/dedicated/buy', order)).status).toBe(200)
    await sh('turnpike backup /var/lib/turnpike/backups/before')
    const [sold, balance] = [await proxies(), (await call('/balance')).data]
    expect((await call('/dedicated/buy', order)).status).toBe(200)
    expect(await proxies()).toHaveLength(2)
    const node = await nodeOf('/var/lib/turnpike')
    const commands = runbook()
    expect(commands.length).toBeGreaterThan(5)
    for (const command of commands) {
      if (command === 'systemctl stop turnpike-shop turnpike-gateway turnpike-vpn-node') await systemctl.stop()
      else if (command === 'systemctl start turnpike.target') await systemctl.start()
      else await sh(command)
    }
    expect([await proxies(), (await call('/balance')).data]).toEqual([sold, balance])
    expect(await nodeOf('/var/lib/turnpike')).toBe(node)
    expect(await sh('find /var/lib/turnpike ! -user turnpike')).toBe('')
    // The sale since the backup is only in the old folder.
    const [customer] = (JSON.parse(await sh('turnpike customer list --json')) as { items: { customer_id: string }[] })
      .items
    const ordersBy = async (command: string) =>
      (JSON.parse(await sh(`${command} order list ${customer?.customer_id} --json`)) as { items: unknown[] }).items
        .length
    expect([await ordersBy('turnpike'), await ordersBy('TURNPIKE_DATA=/var/lib/turnpike.old turnpike')]).toEqual([1, 2])
  })
})
