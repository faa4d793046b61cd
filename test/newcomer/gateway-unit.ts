import { connect } from './connected.ts'
import type { Machine } from './empty-debian.ts'
import { expectSame, expectTold, type Steps } from './steps.ts'

const unit = 'turnpike-gateway'
const customers = 50

/**
 * A gateway with a unit of its own, under the systemd of a Debian: exchanged while customers are connected, again and
 * again, by hand and by an upgrade, and stopped. Both roles are of this machine, and `proxy` was bought before.
 */
export async function tryGatewayUnit(machine: Machine, steps: Steps, proxy: string, newer: string): Promise<void> {
  const sh = (line: string) => machine.sh(line)
  if (!machine.hasSystemd) return steps.leaveOut('the gateway’s unit', 'there is no systemd')
  const mainPid = async () => Number((await sh(`systemctl show --value -p MainPID ${unit}`)).trim())
  const state = async () => (await sh(`systemctl show --value -p ActiveState ${unit}`)).trim()
  const inside = async () => (await sh(`systemctl show --value -p ControlGroup ${unit}`)).trim()
  const processes = async () => {
    const group = `/sys/fs/cgroup${await inside()}/cgroup.procs`
    return (await sh(`cat ${group} 2>/dev/null || true`)).trim().split('\n').filter(Boolean).map(Number)
  }
  const whenCarried = () => sh(`for i in $(seq 120); do ${through(proxy)} && break; sleep 0.5; done; ${through(proxy)}`)
  const exchange = async (how: string) => {
    const before = await mainPid()
    await sh(how)
    const after = await mainPid()
    if (after === before || after === 0) throw new Error(`${how}: the main process is ${after}, and was ${before}`)
    expectSame('the unit', await state(), 'active')
    expectTold('who runs', (await processes()).join(' '), new RegExp(`\\b${after}\\b`))
    await sh(through(proxy))
    return { before, after }
  }

  await steps.step('shop and gateway become units of their own', async () => {
    await sh('systemctl disable --now turnpike')
    await sh(`echo TURNPIKE_LOCAL_NODES=gateway >>/etc/turnpike/turnpike-shop.env`)
    await sh(`systemctl enable --now turnpike-shop ${unit}`)
    await whenCarried()
    return undefined
  })
  await steps.step(`reload, twice, under ${customers} tunnels each: none drops, systemd follows`, async () => {
    const first = await connect(machine, proxy, customers)
    const { before } = await exchange(`systemctl reload ${unit}`)
    const second = await connect(machine, proxy, customers)
    await exchange(`systemctl reload ${unit}`)
    expectSame('processes', (await processes()).length, 3)
    expectTold('by hand', await sh('! turnpike gateway reload'), /systemctl reload turnpike-gateway/)
    // Somebody loses patience with the oldest. It is one of three, and the service goes on.
    await sh(`kill ${before}; while [ -e /proc/${before} ]; do sleep 0.1; done`)
    expectSame('the unit', await state(), 'active')
    await first.expectCutOff(customers)
    await second.hangUp()
    const alone = 'while [ $(wc -l <"$group") -gt 1 ]; do sleep 0.1; done'
    await sh(`group=/sys/fs/cgroup${await inside()}/cgroup.procs; ${alone}`)
    expectSame('who is left', await processes(), [await mainPid()])
    return undefined
  })
  await steps.step('an upgrade of the package exchanges it, under tunnels, and restarts the shop', async () => {
    const connected = await connect(machine, proxy, customers)
    await exchange(`dpkg -i ${newer}`)
    await connected.hangUp()
    await sh('turnpike ready')
    return undefined
  })
  await steps.step('a main process that dies is started again', async () => {
    const before = await mainPid()
    await sh(`kill -9 ${before}`)
    await whenCarried()
    if ((await mainPid()) === before) throw new Error('systemd looks after a process that is gone')
    expectSame('the unit', await state(), 'active')
    return undefined
  })
  await steps.step('stop stops, also one that was exchanged', async () => {
    await exchange(`systemctl reload ${unit}`)
    await sh(`systemctl stop ${unit}`)
    expectSame('the unit', await state(), 'inactive')
    expectSame('processes', await processes(), [])
    expectSame('the port', (await sh(`${through(proxy)} || echo shut`)).trim(), 'shut')
    await sh(`systemctl start ${unit}`)
    await whenCarried()
    await sh(`systemctl disable --now turnpike-shop ${unit}`)
    return undefined
  })
}

const through = (proxy: string): string => `curl -sf -o /dev/null -x ${proxy} http://127.0.0.1:8080/healthz`
