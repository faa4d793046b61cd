import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Machine } from './empty-debian.ts'
import { tryGatewayUnit } from './gateway-unit.ts'
import { expectMatch, expectSame, type Steps } from './steps.ts'

const token = 'tp_test_of_the_newcomer'
const shop = 'http://127.0.0.1:8080'
const buy =
  `curl -sS -i -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -H 'Idempotency-Key: first' ` +
  `-d '{"country_code":"DE","period":30,"count":1,"ipv":4}' ${shop}/api/v1/dedicated/buy`

type Package = { readonly file: string; readonly version: string }

/** Installs, uses, upgrades, removes and purges the package in an empty Debian. */
export async function tryDebianPackage(machine: Machine, steps: Steps, first: Package, next: Package): Promise<void> {
  const sh = (line: string) => machine.sh(line)
  const service = serviceOn(machine)
  let [bought, proxy] = ['', '']
  const isAnswering = () => sh(`curl -sf ${shop}/readyz >/dev/null && echo yes || echo no`)
  const whenReady = () =>
    sh(`for i in $(seq 120); do turnpike ready >/dev/null && break; sleep 0.5; done; turnpike ready`)
  const owners = () => sh(`find /var/lib/turnpike ! -user turnpike`)

  async function sellAgain(version: string): Promise<void> {
    const again = await sh(buy)
    expectMatch('the same key again', again, /^idempotent-replayed: true/im)
    expectSame('its bytes', bodyOf(again), bodyOf(bought))
    expectSame(
      'the answer through the proxy',
      await sh(`curl -sS -x ${proxy} ${shop}/healthz`),
      `{"ok":true,"version":"${version}"}`,
    )
  }

  copyFileSync(first.file, join(machine.folder, 'first.deb'))
  copyFileSync(next.file, join(machine.folder, 'next.deb'))
  await steps.step('dpkg -i installs the package and starts nothing', async () => {
    expectMatch('what it says', await sh('dpkg -i /first.deb'), /installed and not started/)
    expectSame('its version', (await sh('turnpike --version')).trim(), first.version)
    expectSame('the data folder', (await sh('stat -c "%a %U %G" /var/lib/turnpike')).trim(), '700 turnpike turnpike')
    expectSame('the settings', (await sh('stat -c "%a %U" /etc/turnpike/turnpike.env')).trim(), '600 root')
    expectSame('running', (await isAnswering()).trim(), 'no')
    return undefined
  })
  await steps.step(`the service starts with ${machine.hasSystemd ? 'systemd' : 'its unit’s command'}`, async () => {
    const settings = {
      TURNPIKE_SANDBOX: 'on',
      TURNPIKE_SANDBOX_TOKEN: `"${token}"`,
      TURNPIKE_BACKUP_FOLDER: '/var/lib/turnpike/backups',
    }
    for (const [name, value] of Object.entries(settings))
      await sh(`echo '${name}=${value}' >>/etc/turnpike/turnpike.env`)
    await service.start()
    await whenReady()
    return undefined
  })
  await steps.step('a customer buys a proxy and uses it', async () => {
    bought = await sh(buy)
    const [, ip, port, user, password] = proxyIn(bodyOf(bought))
    proxy = `http://${user}:${password}@${ip}:${port}`
    expectSame(
      'the answer through the proxy',
      await sh(`curl -sS -x ${proxy} ${shop}/healthz`),
      `{"ok":true,"version":"${first.version}"}`,
    )
    expectMatch('the console', await sh(`curl -sS ${shop}/`), /<script/)
    return undefined
  })
  await steps.step('commands run as root and leave no file of root in the data folder', async () => {
    expectMatch('customers', await sh('turnpike customer list'), /cus_/)
    expectMatch('verify', await sh('cd /root && turnpike verify'), /./)
    expectSame('files of others in the data folder', await owners(), '')
    return undefined
  })
  await steps.step(`dpkg -i upgrades to ${next.version} and keeps data and settings`, async () => {
    const printed = await sh('dpkg -i /next.deb')
    if (machine.hasSystemd) expectMatch('what it says', printed, /To convert:[^]*enable --now turnpike\.target/)
    await service.upgraded()
    await whenReady()
    await sellAgain(next.version)
    expectMatch('its settings', await sh('cat /etc/turnpike/turnpike.env'), /SANDBOX=on/)
    return undefined
  })
  await steps.step('the service writes a backup', async () => {
    const whole = 'ls /var/lib/turnpike/backups/turnpike-*Z/manifest.json'
    await sh(`for i in $(seq 100); do ${whole} 2>/dev/null && break; sleep 1; done; ${whole}`)
    return undefined
  })
  await steps.step('dpkg -r removes the program and keeps the data', async () => {
    await service.removing()
    await sh('dpkg -r turnpike')
    expectSame('running', (await isAnswering()).trim(), 'no')
    expectSame('the program', (await sh('ls /usr/bin/turnpike /usr/lib/turnpike 2>/dev/null || true')).trim(), '')
    expectMatch('the data', await sh('ls /var/lib/turnpike'), /turnpike\.db/)
    return undefined
  })
  await steps.step('a second installation serves what was sold before', async () => {
    await sh('dpkg -i /next.deb')
    await service.start()
    await whenReady()
    await sellAgain(next.version)
    return undefined
  })
  await tryGatewayUnit(machine, steps, proxy, '/next.deb')
  await steps.step('dpkg -P deletes the settings and keeps the data', async () => {
    await service.removing()
    expectMatch('what it says', await sh('dpkg -P turnpike'), /kept \/var\/lib\/turnpike/)
    expectSame('settings', (await sh('ls -d /etc/turnpike 2>/dev/null || true')).trim(), '')
    expectSame('enabled units', (await sh('ls /etc/systemd/system/*.wants/turnpike* 2>/dev/null || true')).trim(), '')
    expectMatch('the data', await sh('ls /var/lib/turnpike'), /turnpike\.db/)
    return undefined
  })
}

const bodyOf = (answer: string): string => answer.slice(answer.indexOf('\r\n\r\n') + 4)

function proxyIn(body: string): string[] {
  const { data } = JSON.parse(body) as { data: { proxies: Record<string, string>[] } }
  const { ip = '', port = '', username = '', password = '' } = data.proxies[0] ?? {}
  return ['', ip, port, username, password]
}

/** Starts and stops the service with systemd, or by hand with the command of its unit. */
function serviceOn(machine: Machine) {
  const sh = (line: string) => machine.sh(line)
  if (machine.hasSystemd) {
    return {
      start: () => sh('systemctl enable --now turnpike'),
      upgraded: () => sh('systemctl is-active turnpike'),
      removing: async () => '',
    }
  }
  const unit = '/usr/lib/systemd/system/turnpike.service'
  const settings = '/etc/turnpike/turnpike.env'
  const start = async () => {
    const [, command = ''] = expectMatch('the unit', await sh(`cat ${unit}`), /^ExecStart=(.+)$/m)
    machine.start(
      `set -a; TURNPIKE_DATA=/var/lib/turnpike TURNPIKE_SANDBOX=off; . ${settings}; set +a; ` +
        `exec setpriv --reuid turnpike --regid turnpike --clear-groups ${command}`,
    )
    return ''
  }
  const stop = () => sh(`pkill -TERM -o -u turnpike; while pgrep -u turnpike >/dev/null; do sleep 0.1; done`)
  return {
    start,
    async upgraded() {
      await stop()
      return start()
    },
    removing: stop,
  }
}
