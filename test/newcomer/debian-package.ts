import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Machine } from './empty-debian.ts'
import { tryGatewayUnit } from './gateway-unit.ts'
import { expectSame, expectTold, type Steps } from './steps.ts'

const token = 'tp_test_of_the_newcomer'
const shop = 'http://127.0.0.1:8080'
const buy =
  `curl -sS -i -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -H 'Idempotency-Key: first' ` +
  `-d '{"country_code":"DE","period":30,"count":1,"ipv":4}' ${shop}/api/v1/dedicated/buy`

type Package = { readonly file: string; readonly version: string }

/** What somebody does with the package from the first day to the last, in an empty Debian. */
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
    expectTold('the same key again', again, /^idempotent-replayed: true/im)
    expectSame('its bytes', bodyOf(again), bodyOf(bought))
    expectSame(
      'what went through the proxy',
      await sh(`curl -sS -x ${proxy} ${shop}/healthz`),
      `{"ok":true,"version":"${version}"}`,
    )
  }

  copyFileSync(first.file, join(machine.folder, 'first.deb'))
  copyFileSync(next.file, join(machine.folder, 'next.deb'))
  await steps.step('install', async () => {
    expectTold('what it says', await sh('dpkg -i /first.deb'), /installed and not started/)
    expectSame('its version', (await sh('turnpike --version')).trim(), first.version)
    expectSame('the data folder', (await sh('stat -c "%a %U %G" /var/lib/turnpike')).trim(), '700 turnpike turnpike')
    expectSame('the settings', (await sh('stat -c "%a %U" /etc/turnpike/turnpike.env')).trim(), '600 root')
    expectSame('running', (await isAnswering()).trim(), 'no')
    return undefined
  })
  await steps.step(`set up and start, ${machine.hasSystemd ? 'by systemd' : 'by the unit’s command'}`, async () => {
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
  await steps.step('buy a proxy and use it', async () => {
    bought = await sh(buy)
    const [, ip, port, user, password] = proxyIn(bodyOf(bought))
    proxy = `http://${user}:${password}@${ip}:${port}`
    expectSame(
      'what went through it',
      await sh(`curl -sS -x ${proxy} ${shop}/healthz`),
      `{"ok":true,"version":"${first.version}"}`,
    )
    expectTold('the console', await sh(`curl -sS ${shop}/`), /<script/)
    return undefined
  })
  await steps.step('the operator’s tool, as root', async () => {
    expectTold('customers', await sh('turnpike customer list'), /cus_/)
    expectTold('verify', await sh('cd /root && turnpike verify'), /./)
    expectSame('files of others in the data folder', await owners(), '')
    return undefined
  })
  await steps.step(`upgrade to ${next.version}`, async () => {
    await sh('dpkg -i /next.deb')
    await service.upgraded()
    await whenReady()
    await sellAgain(next.version)
    expectTold('its settings', await sh('cat /etc/turnpike/turnpike.env'), /SANDBOX=on/)
    return undefined
  })
  await steps.step('it backs itself up, in a process of its own', async () => {
    const whole = 'ls /var/lib/turnpike/backups/turnpike-*Z/manifest.json'
    await sh(`for i in $(seq 100); do ${whole} 2>/dev/null && break; sleep 1; done; ${whole}`)
    return undefined
  })
  await steps.step('remove', async () => {
    await service.removing()
    await sh('dpkg -r turnpike')
    expectSame('running', (await isAnswering()).trim(), 'no')
    expectSame('the program', (await sh('ls /usr/bin/turnpike /usr/lib/turnpike 2>/dev/null || true')).trim(), '')
    expectTold('the data', await sh('ls /var/lib/turnpike'), /turnpike\.db/)
    return undefined
  })
  await steps.step('install again: what was sold is there', async () => {
    await sh('dpkg -i /next.deb')
    await service.start()
    await whenReady()
    await sellAgain(next.version)
    return undefined
  })
  await tryGatewayUnit(machine, steps, proxy, '/next.deb')
  await steps.step('purge: settings go, data stay', async () => {
    await service.removing()
    expectTold('what it says', await sh('dpkg -P turnpike'), /kept \/var\/lib\/turnpike/)
    expectSame('settings', (await sh('ls -d /etc/turnpike 2>/dev/null || true')).trim(), '')
    expectTold('the data', await sh('ls /var/lib/turnpike'), /turnpike\.db/)
    return undefined
  })
}

const bodyOf = (answer: string): string => answer.slice(answer.indexOf('\r\n\r\n') + 4)

function proxyIn(body: string): string[] {
  const { data } = JSON.parse(body) as { data: { proxies: Record<string, string>[] } }
  const { ip = '', port = '', username = '', password = '' } = data.proxies[0] ?? {}
  return ['', ip, port, username, password]
}

/** How the service is started and stopped: by systemd, or by hand with what its unit says. */
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
    const [, command = ''] = expectTold('the unit', await sh(`cat ${unit}`), /^ExecStart=(.+)$/m)
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
