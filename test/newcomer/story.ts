import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { debianVersion } from '../../tools/package/deb.ts'
import { version } from '../../tools/package/project.ts'
import { connect } from './connected.ts'
import { type Machine, openEmptyDebian } from './empty-debian.ts'
import { type Network, openNetwork, pageAddress } from './network.ts'
import { fenceIn } from './pages.ts'
import { createReader, type Reader } from './reader.ts'
import { expectMatch, expectSame, type Steps } from './steps.ts'

type Package = { readonly file: string; readonly version: string }

const page = `http://${pageAddress}/`
const shop = 'https://shop.example.net'
const packages = ['ca-certificates', 'iproute2', 'nftables', 'openssl', 'postgresql', 'wireguard-go', 'wireguard-tools']
const customers = 50

/** Values that earlier steps printed and later steps use. */
type Found = { customer: string; token: string; proxy: string; farProxy: string }

type Stage = {
  readonly server: Machine
  readonly frankfurt: Machine
  readonly network: Network
  readonly reader: Reader
  readonly steps: Steps
  readonly next: Package
  readonly found: Found
}

/** Follows the pages of docs/operate in order on empty machines: a server, a second gateway and a public network. */
export async function tryStory(steps: Steps, first: Package, next: Package): Promise<void> {
  const network = await openNetwork()
  const opened: Machine[] = []
  const open = async (more: readonly string[]) => {
    const machine = await openEmptyDebian(more)
    opened.push(machine)
    return machine
  }
  try {
    const [server, frankfurt] = [await open(packages), await open([])]
    if (!server.hasSystemd) return steps.leaveOut('the pages for operators', 'there is no systemd')
    const found: Found = { customer: '', token: '', proxy: '', farProxy: '' }
    const named = `turnpike_${debianVersion(version)}_amd64.deb`
    const own = { [named]: 'first.deb', 'https://example.com/': page }
    const machines = { server, shop: server, 'frankfurt-1': frankfurt, gateway: frankfurt, customer: frankfurt }
    const stage = { server, frankfurt, network, reader: createReader(machines, own), steps, next, found }
    await prepare(stage, first)
    await firstDay(stage)
    await firstWeek(stage)
    await thirdMonth(stage)
    await years(stage)
    await lastDay(stage)
  } finally {
    await Promise.all([...opened, network].map((each) => each.end()))
  }
}

async function prepare({ server, frankfurt, network, next }: Stage, first: Package): Promise<void> {
  for (const machine of [server, frankfurt]) {
    copyFileSync(first.file, join(machine.folder, 'root/first.deb'))
    copyFileSync(next.file, join(machine.folder, 'root/next.deb'))
    await machine.sh("echo '203.0.113.2 shop.example.net gw.example.net proxy.example.net' >>/etc/hosts")
    await machine.sh("echo 'nameserver 203.0.113.1' >/etc/resolv.conf")
  }
  await network.join(server, ['203.0.113.2', '203.0.113.7', '203.0.113.8', '203.0.113.9', '198.51.100.7'])
  await network.join(frankfurt, ['203.0.113.3', '192.0.2.40', '192.0.2.41'])
}

async function firstDay({ server, frankfurt, reader, steps, found }: Stage): Promise<void> {
  await steps.step('day one: install.md installs and starts the shop, and doctor finds nothing', async () => {
    const settings = `TURNPIKE_PUBLIC_URL=${shop}\nTURNPIKE_GATEWAY_HOST=gw.example.net\nTURNPIKE_VPN_HOST=gw.example.net`
    const written = `cat >>/etc/turnpike/turnpike.env <<'END'\n${settings}\nEND`
    const printed = await reader.follow('operate/install.md', 'apt install ./turnpike', {
      'editor /etc/turnpike/turnpike.env': written,
    })
    expectMatch('doctor', printed, /Nothing to do\./)
    expectMatch('prices', printed, /Version 1 is in force\./)
    return undefined
  })
  await steps.step('day one: install.md adds addresses, an exit, a customer and money', async () => {
    const install = 'operate/install.md'
    await reader.type(install, ['stock add 203.0.113.0/24', 'exit add residential'])
    const made = await reader.type(install, ["customer create 'First customer'"])
    found.customer = expectMatch('the customer', made, /cus_[0-9a-z]+/)[0]
    const own = { 'cus_…': found.customer }
    found.token = expectMatch('the token', await reader.type(install, ['token create'], own), /tp_live_[0-9a-z]+/)[0]
    const money = ['credit cus_… 10000', '--key invoice-18 --reference', '--key invoice-18-taken-back']
    const printed = await reader.type(install, [...money, 'transaction list'], own)
    expectMatch('the movements', printed, /debit +-5000\.00 +10000\.00/)
    return undefined
  })
  await steps.step('day one: tls.md serves a certificate from files', async () => {
    await server.sh(makeCertificates)
    for (const machine of [server, frankfurt]) {
      await machine.sh(`cat >/etc/turnpike-ca.pem <<'END'\n${await server.sh('cat ~/ca.crt')}\nEND`)
    }
    const dropIn = await fenceIn('operate/tls.md', 'ini')
    const edited = `mkdir -p /etc/systemd/system/turnpike-shop.service.d; cat >/etc/systemd/system/turnpike-shop.service.d/override.conf <<'END'\n${dropIn}\nEND\nsystemctl daemon-reload`
    await server.sh('echo NODE_EXTRA_CA_CERTS=/etc/turnpike-ca.pem >>/etc/turnpike/turnpike.env')
    await reader.follow('operate/tls.md', 'TURNPIKE_TLS_CERT', { 'systemctl edit turnpike-shop': edited })
    await untilPrints(server, 'turnpike stock ranges', /203\.0\.113\.0\/24 +no +256 +[45] +local-gateway/)
    expectMatch('doctor', await server.sh('turnpike doctor'), /ok +certificate of shop\.example\.net/)
    return undefined
  })
  await steps.step('day one: install.md sells a proxy that fetches a page', async () => {
    const curl = `curl -sS --cacert /etc/turnpike-ca.pem`
    const own = { 'tp_live_…': found.token, 'curl ': `${curl} ` }
    const printed = await reader.follow('operate/install.md', 'dedicated/buy', (soFar) => ({
      ...own,
      ...proxyIn(soFar),
    }))
    found.proxy = proxyOf(printed)
    expectMatch('the address that the page sees', printed, /you are 203\.0\.113\.\d+$/m)
    return undefined
  })
}

async function firstWeek({ server, reader, steps, found }: Stage): Promise<void> {
  await steps.step('week one: tls.md serves proxies over TLS, and a reload takes a new certificate', async () => {
    const curl = { 'curl ': 'curl -sS --proxy-cacert /etc/turnpike-ca.pem ' }
    await reader.follow('operate/tls.md', 'TURNPIKE_GATEWAY_TLS_PORT', { ...curl, ...loginOf(found.proxy) })
    await server.sh(
      `cd /root; openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -days 60 -extfile ext -out tls.crt`,
    )
    const copied = 'install -o turnpike -g turnpike -m 600 ~/tls.crt /var/lib/turnpike/tls/'
    await server.sh(`${copied}; systemctl kill -s HUP --kill-whom=main turnpike-shop`)
    await untilPrints(server, 'turnpike doctor', /certificate of shop\.example\.net: it is valid for (?:59|60) days/)
    return undefined
  })
  await steps.step(
    'week one: backup-and-upgrade.md backs up, restores to an empty folder and verifies it',
    async () => {
      const pages = 'operate/backup-and-upgrade.md'
      await reader.type(pages, ['backup backups/first', 'restore backups/first', 'verify --data restored'])
      await server.sh('echo TURNPIKE_BACKUP_FOLDER=/var/lib/turnpike/backups >>/etc/turnpike/turnpike.env')
      await server.sh('systemctl restart turnpike-shop')
      return undefined
    },
  )
  await steps.step(
    'week one: verify.md checks kept checkpoints, metrics answer, privacy.md finds holders',
    async () => {
      const printed = await reader.type('operate/verify.md', [
        'export TURNPIKE',
        'turnpike checkpoint',
        'verify --against',
      ])
      expectMatch('verify', printed, /1 checkpoints kept elsewhere/)
      for (const port of [9464, 9465]) {
        expectMatch('figures', await server.sh(`curl -sS http://127.0.0.1:${port}/metrics`), /^turnpike_/m)
      }
      const query = `${new URL(found.proxy).hostname} --from ${new Date().toISOString()}`
      const own = { '203.0.113.7 --from 2026-03-01T10:15:32Z': query }
      await reader.follow('operate/privacy.md', 'turnpike address holders', own)
      await reader.follow('operate/privacy.md', 'turnpike customer export', { 'cus_…': found.customer })
      return undefined
    },
  )
  await steps.step('week one: operators.md adds operators with roles', async () => {
    await reader.follow('operate/operators.md', 'turnpike operator add helpdesk')
    return undefined
  })
}

async function thirdMonth(stage: Stage): Promise<void> {
  const { server, frankfurt, network, reader, steps, next, found } = stage
  await steps.step('month three: postgresql.md moves to PostgreSQL and back', async () => {
    const made = ["CREATE USER turnpike PASSWORD 'geheim'", 'CREATE DATABASE turnpike OWNER turnpike']
    // Some base systems have no cluster yet.
    await server.sh('ls /etc/postgresql/*/main || pg_createcluster "$(ls /usr/lib/postgresql)" main --start')
    await server.sh('timeout 60 sh -c "until pg_isready -q; do sleep 0.2; done"')
    for (const line of made) await server.sh(`cd /; su postgres -c "psql -c \\"${line}\\""`)
    const own = { 'PASSWORD@db.example.net': 'geheim@127.0.0.1' }
    const printed = await reader.follow('operate/postgresql.md', 'turnpike move --to-file', own)
    expectMatch('the move', printed, /all are the same/)
    await through(server, found.proxy)
    const back = await reader.follow('operate/postgresql.md', 'turnpike move --to /var/lib/turnpike')
    expectMatch('the move back', back, /all are the same/)
    await through(server, found.proxy)
    expectMatch('verify', await server.sh('turnpike verify'), /No problem found/)
    return undefined
  })
  await steps.step('month three: gateway.md adds a second gateway on its own machine, which sells', async () => {
    const added = await reader.type('gateway.md', ['node add frankfurt-1'])
    const key = expectMatch('its key', added, /tpj_[0-9a-z]+/)[0]
    await frankfurt.sh(
      'dpkg -i ~/first.deb; echo NODE_EXTRA_CA_CERTS=/etc/turnpike-ca.pem >>/etc/turnpike/turnpike.env',
    )
    await reader.follow('gateway.md', 'systemctl enable --now turnpike-gateway', { 'tpj_…': key })
    await untilPrints(server, 'turnpike node list', /frankfurt-1 +gateway +frankfurt +online/)
    await server.sh('turnpike stock add 192.0.2.40/31 --country NL --ipv 4 --node frankfurt-1')
    await untilPrints(server, 'turnpike stock ranges', /192\.0\.2\.40\/31 +frankfurt-1 +no +2 +2/)
    const buy = `curl -sS --cacert /etc/turnpike-ca.pem -H 'Authorization: Bearer ${found.token}' -H 'Content-Type: application/json' -d '{"country_code":"NL","period":30,"count":1,"ipv":4}' ${shop}/api/v1/dedicated/buy`
    const sold = await untilPrints(frankfurt, buy, /"ok":true/)
    found.farProxy = proxyOf(sold)
    await through(frankfurt, found.farProxy)
    return undefined
  })
  await steps.step('month three: vpn.md adds a VPN node, and its unit runs it', async () => {
    const added = await reader.type('vpn.md', ['node add amsterdam'], { 'vpn.example.net': 'gw.example.net' })
    const key = expectMatch('its key', added, /tpj_[0-9a-z]+/)[0]
    await server.sh(`echo TURNPIKE_NODE_KEY=${key} >/etc/turnpike/turnpike-vpn-node.env`)
    await server.sh('systemctl enable --now turnpike-vpn-node')
    await untilPrints(server, 'turnpike node list', /amsterdam +vpn +nl +online/)
    const log = await server.sh('journalctl -u turnpike-vpn-node -o cat')
    const [, kind] = expectMatch('the device', log, /vpn device is up.*"kind":"([a-z-]+)"/)
    await server.sh('systemctl restart turnpike-vpn-node')
    expectSame(
      'lost counts',
      (await server.sh('journalctl -u turnpike-vpn-node -g "no last count" -q || true')).trim(),
      '',
    )
    return kind
  })
  await steps.step(
    `month three: an upgrade to ${next.version} keeps ${customers} tunnels of each gateway open`,
    async () => {
      const connected = await connect(network, found.farProxy, customers, pageAddress)
      const besideShop = await connect(network, found.proxy, customers, pageAddress)
      const upgrade = 'cd /root; apt-get -qy install ./next.deb'
      await server.sh(upgrade)
      await frankfurt.sh(upgrade)
      await untilPrints(
        server,
        'turnpike node list',
        new RegExp(`frankfurt-1 .*online +${next.version.replaceAll('.', '\\.')}`),
      )
      await through(frankfurt, found.farProxy)
      await through(server, found.proxy)
      // A second reload by hand, as the page describes.
      await reader.follow('operate/backup-and-upgrade.md', 'systemctl reload turnpike-gateway', skipOthers)
      await connected.hangUp()
      await besideShop.hangUp()
      await untilPrints(server, 'turnpike doctor', /Nothing to do\./)
      return undefined
    },
  )
}

/** The page names three alternatives; the test takes one. */
const skipOthers = { 'turnpike gateway reload --data DATA': 'true', 'turnpike gateway --take-over': 'true' }

async function years({ server, reader, steps, found }: Stage): Promise<void> {
  await steps.step('years: the weekly, monthly and quarterly commands succeed', async () => {
    for (const command of [
      'payments reconcile',
      'payments unmatched',
      'usage quarantine',
      'report days --csv',
      'audit list',
    ])
      await server.sh(`turnpike ${command}`)
    const log = await server.sh(
      `journalctl -u turnpike-shop -u turnpike-gateway --since -60min -o cat | grep -c '"level":"error"' || true`,
    )
    expectSame('errors in the log', log.trim(), '0')
    return undefined
  })
  await steps.step('years: a lost key is restored from a backup', async () => {
    const key = '/var/lib/turnpike/secret.key'
    await server.sh(`systemctl stop turnpike-shop; rm ${key}; ! systemctl start turnpike-shop`)
    expectMatch('the log', await server.sh('journalctl -u turnpike-shop -n 20 -o cat'), /There is no \S+secret\.key/)
    await server.sh(`install -o turnpike -g turnpike -m 600 /var/lib/turnpike/backups/first/secret.key ${key}`)
    await server.sh('systemctl start turnpike-shop')
    await through(server, found.proxy)
    return undefined
  })
  await steps.step(
    'years: privacy.md erases a customer, and the compacted file does not contain the name',
    async () => {
      const own = { 'cus_…': found.customer }
      await reader.follow('operate/privacy.md', 'turnpike customer erase', own)
      await reader.follow('operate/privacy.md', 'turnpike compact')
      expectSame(
        'the name in the file',
        (await server.sh(`grep -c 'First customer' /var/lib/turnpike/turnpike.db || true`)).trim(),
        '0',
      )
      const against = 'turnpike verify --against /var/lib/turnpike/checkpoints.jsonl'
      expectMatch('verify', await server.sh(against), /No problem found/)
      return undefined
    },
  )
  await steps.step('years: the shop has written its own backups', async () => {
    await untilPrints(server, 'ls -d /var/lib/turnpike/backups/turnpike-*Z', /Z$/m)
    return undefined
  })
}

async function lastDay({ server, frankfurt, steps }: Stage): Promise<void> {
  await steps.step('last day: apt-get remove and purge keep the data', async () => {
    for (const machine of [server, frankfurt]) {
      await machine.sh('apt-get -qy remove turnpike')
      expectSame('running processes', (await machine.sh('pgrep -c -u turnpike || true')).trim(), '0')
      await machine.sh('apt-get -qy purge turnpike')
    }
    expectMatch('the data', await server.sh('ls /var/lib/turnpike'), /turnpike\.db/)
    expectSame('settings', (await server.sh('ls /etc/turnpike 2>/dev/null || true')).trim(), '')
    return undefined
  })
}

const makeCertificates = `cd /root
new='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
openssl req -x509 $new -keyout ca.key -out ca.crt -days 3650 -subj '/CN=An authority of our own'
openssl req $new -keyout tls.key -out tls.csr -subj /CN=shop.example.net
printf subjectAltName=DNS:shop.example.net,DNS:proxy.example.net,DNS:gw.example.net >ext
openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -days 90 -extfile ext -out tls.crt`

/** Repeats a command every 0.5 s until its output matches, for about 60 s. */
async function untilPrints(machine: Machine, line: string, wanted: RegExp): Promise<string> {
  for (let tries = 0; ; tries += 1) {
    const printed = await machine.sh(`${line} || true`)
    if (wanted.test(printed)) return printed
    if (tries === 120) expectMatch(line, printed, wanted)
    await Bun.sleep(500)
  }
}

const through = (machine: Machine, proxy: string) =>
  untilPrints(machine, `curl -sS --proxy ${proxy} ${page}`, /^you are /)

/** The fields of a purchase’s answer, keyed by the placeholders of the pages. */
function proxyIn(printed: string): Record<string, string> {
  const field = (name: string): string => new RegExp(`"${name}":"([^"]+)"`).exec(printed)?.[1] ?? name.toUpperCase()
  return { USERNAME: field('username'), PASSWORD: field('password'), IP: field('ip') }
}

function proxyOf(printed: string): string {
  const { USERNAME, PASSWORD, IP } = proxyIn(printed)
  return `http://${USERNAME}:${PASSWORD}@${IP}:10800`
}

function loginOf(proxy: string): Record<string, string> {
  const { username, password } = new URL(proxy)
  return { USERNAME: username, PASSWORD: password }
}
