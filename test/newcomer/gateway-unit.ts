import { connect } from './connected.ts'
import type { Machine } from './empty-debian.ts'
import { createReader } from './reader.ts'
import { expectMatch, expectSame, type Steps } from './steps.ts'

const unit = 'turnpike-gateway'
const customers = 200

/**
 * Tests the gateway’s systemd unit: reloads and an upgrade under open tunnels, a crash and a stop. Shop and gateway
 * run on this machine; `proxy` was bought before.
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
  const untilServing = () =>
    sh(`for i in $(seq 120); do ${through(proxy)} && break; sleep 0.5; done; ${through(proxy)}`)
  const replaceProcess = async (command: string) => {
    const before = await mainPid()
    await sh(command)
    const after = await mainPid()
    if (after === before || after === 0) throw new Error(`${command}: the main process is ${after}, and was ${before}`)
    expectSame('the unit', await state(), 'active')
    expectMatch('running processes', (await processes()).join(' '), new RegExp(`\\b${after}\\b`))
    await sh(through(proxy))
    return { before, after }
  }

  await steps.step('install.md converts turnpike.service to turnpike.target', async () => {
    await createReader({ server: machine }, {}).follow('operate/install.md', 'systemctl disable --now turnpike')
    await untilServing()
    expectSame('the unit', await state(), 'active')
    return undefined
  })
  await steps.step(`two reloads under ${customers} tunnels each drop none, and systemd follows`, async () => {
    const first = await connect(machine, proxy, customers)
    const unchanged = await mainPid()
    // A gateway without a certificate has nothing to read again.
    await sh(`systemctl kill -s HUP --kill-whom=main ${unit}`)
    await sh(through(proxy))
    expectSame('the main process after a hang-up', await mainPid(), unchanged)
    const { before } = await replaceProcess(`systemctl reload ${unit}`)
    const second = await connect(machine, proxy, customers)
    await replaceProcess(`systemctl reload ${unit}`)
    expectSame('processes', (await processes()).length, 3)
    expectMatch('by hand', await sh('! turnpike gateway reload'), /systemctl reload turnpike-gateway/)
    // The oldest of three processes is killed; the service stays active.
    await sh(`kill ${before}; while [ -e /proc/${before} ]; do sleep 0.1; done`)
    expectSame('the unit', await state(), 'active')
    await first.expectCutOff(customers)
    await second.hangUp()
    const alone = 'while [ $(wc -l <"$group") -gt 1 ]; do sleep 0.1; done'
    await sh(`group=/sys/fs/cgroup${await inside()}/cgroup.procs; ${alone}`)
    expectSame('remaining processes', await processes(), [await mainPid()])
    return undefined
  })
  await steps.step(
    'a package upgrade replaces the gateway without dropping tunnels and restarts the shop',
    async () => {
      const connected = await connect(machine, proxy, customers)
      await replaceProcess(`dpkg -i ${newer}`)
      await connected.hangUp()
      await sh('turnpike ready')
      return undefined
    },
  )
  await steps.step('a package upgrade says that the gateway was not replaced, and the gateway continues', async () => {
    const [settings, before] = ['/etc/turnpike/turnpike-gateway.env', await mainPid()]
    // A new process with another port cannot take over.
    await sh(`echo TURNPIKE_GATEWAY_PORT=10900 >${settings}`)
    const printed = await sh(`dpkg -i ${newer}`)
    await sh(`rm ${settings}`)
    expectMatch('what it says', printed, /the gateway was not replaced[^]*systemctl reload turnpike-gateway/)
    expectSame('the main process', await mainPid(), before)
    await sh(through(proxy))
    return undefined
  })
  await steps.step('systemd restarts a killed main process', async () => {
    const before = await mainPid()
    await sh(`kill -9 ${before}`)
    await untilServing()
    if ((await mainPid()) === before) throw new Error('systemd still names the killed process')
    // With its saved state it is ready a moment after it listens.
    await sh(`for i in $(seq 60); do [ "$(systemctl is-active ${unit})" = active ] && break; sleep 0.5; done`)
    expectSame('the unit', await state(), 'active')
    return undefined
  })
  await steps.step('systemctl stop ends a gateway that was reloaded', async () => {
    await replaceProcess(`systemctl reload ${unit}`)
    await sh(`systemctl stop ${unit}`)
    expectSame('the unit', await state(), 'inactive')
    expectSame('processes', await processes(), [])
    expectSame('the port', (await sh(`${through(proxy)} || echo shut`)).trim(), 'shut')
    await sh(`systemctl start ${unit}`)
    await untilServing()
    await sh('systemctl restart turnpike.target')
    await untilServing()
    await sh('systemctl disable --now turnpike.target')
    // The target stops first, its units after it.
    const isStopped = `[ "$(systemctl is-active turnpike-shop ${unit} | sort -u)" = inactive ]`
    await sh(`for i in $(seq 120); do ${isStopped} && break; sleep 0.5; done; ${isStopped}`)
    return undefined
  })
}

const through = (proxy: string): string => `curl -sf -o /dev/null -x ${proxy} http://127.0.0.1:8080/healthz`
