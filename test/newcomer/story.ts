import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { debianVersion } from '../../tools/package/deb.ts'
import { version } from '../../tools/package/place.ts'
import { connect } from './connected.ts'
import { type Machine, openEmptyDebian } from './empty-debian.ts'
import { type Network, openNetwork, pageAddress } from './network.ts'
import { fenceIn } from './pages.ts'
import { createReader, type Reader } from './reader.ts'
import { expectSame, expectTold, type Steps } from './steps.ts'

type Package = { readonly file: string; readonly version: string }

const page = `http://${pageAddress}/`
const shop = 'https://shop.example.net'
const packages = ['ca-certificates', 'openssl', 'postgresql']
const customers = 50

/** What the story knows as it goes: what was printed, and is typed again later. */
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

/**
 * The pages of docs/operate from the first day to the third year, followed on empty machines by somebody who types what
 * stands there: a server, a second gateway far away, and the rest of the world.
 */
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
  }
  await network.join(server, ['203.0.113.2', '203.0.113.7', '203.0.113.8', '203.0.113.9', '198.51.100.7'])
  await network.join(frankfurt, ['203.0.113.3', '192.0.2.40', '192.0.2.41'])
}

async function firstDay({ server, frankfurt, reader, steps, found }: Stage): Promise<void> {
  await steps.step('day one: installed, started, and the doctor is content', async () => {
    const settings = `TURNPIKE_PUBLIC_URL=${shop}\nTURNPIKE_GATEWAY_HOST=gw.example.net\nTURNPIKE_VPN_HOST=gw.example.net`
    const written = `cat >/etc/turnpike/turnpike.env <<'END'\n${settings}\nEND`
    const said = await reader.follow('operate/install.md', 'apt install ./turnpike', {
      'editor /etc/turnpike/turnpike.env': written,
    })
    expectTold('doctor', said, /Nothing needs you\./)
    expectTold('prices', said, /Version 1 is in force\./)
    return undefined
  })
  await steps.step('day one: addresses, an exit, a customer and his money', async () => {
    const install = 'operate/install.md'
    await reader.type(install, ['stock add 203.0.113.0/24', 'exit add residential'])
    const made = await reader.type(install, ["customer create 'First customer'"])
    found.customer = expectTold('the customer', made, /cus_[0-9a-z]+/)[0]
    const own = { 'cus_…': found.customer }
    found.token = expectTold('the token', await reader.type(install, ['token create'], own), /tp_live_[0-9a-z]+/)[0]
    const money = ['credit cus_… 10000', '--key invoice-18 --reference', '--key invoice-18-taken-back']
    const said = await reader.type(install, [...money, 'transaction list'], own)
    expectTold('the movements', said, /debit +-5000\.00 +10000\.00/)
    return undefined
  })
  await steps.step('day one: TLS from files', async () => {
    await server.sh(makeCertificates)
    for (const machine of [server, frankfurt]) {
      await machine.sh(`cat >/etc/turnpike-ca.pem <<'END'\n${await server.sh('cat ~/ca.crt')}\nEND`)
    }
    const dropIn = await fenceIn('operate/tls.md', 'ini')
    const edited = `mkdir -p /etc/systemd/system/turnpike.service.d; cat >/etc/systemd/system/turnpike.service.d/override.conf <<'END'\n${dropIn}\nEND\nsystemctl daemon-reload`
    await server.sh('echo NODE_EXTRA_CA_CERTS=/etc/turnpike-ca.pem >>/etc/turnpike/turnpike.env')
    await reader.follow('operate/tls.md', 'TURNPIKE_TLS_CERT', { 'systemctl edit turnpike': edited })
    await untilSo(server, 'turnpike stock ranges', /203\.0\.113\.0\/24 +any +256 +[45] +local-gateway/)
    expectTold('doctor', await server.sh('turnpike doctor'), /ok +certificate of shop\.example\.net/)
    return undefined
  })
  await steps.step('day one: the first sale, and a page through it', async () => {
    const curl = `curl -sS --cacert /etc/turnpike-ca.pem`
    const own = { 'tp_live_…': found.token, 'curl ': `${curl} ` }
    const said = await reader.follow('operate/install.md', 'dedicated/buy', (printed) => ({
      ...own,
      ...proxyIn(printed),
    }))
    found.proxy = proxyOf(said)
    expectTold('who the page sees', said, /you are 203\.0\.113\.\d+$/m)
    return undefined
  })
}

async function firstWeek({ server, reader, steps, found }: Stage): Promise<void> {
  await steps.step('the first week: proxies over TLS, and a certificate that is exchanged', async () => {
    const curl = { 'curl ': 'curl -sS --proxy-cacert /etc/turnpike-ca.pem ' }
    await reader.follow('operate/tls.md', 'TURNPIKE_GATEWAY_TLS_PORT', { ...curl, ...loginOf(found.proxy) })
    await server.sh(
      `cd /root; openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -days 60 -extfile ext -out tls.crt`,
    )
    const copied = 'install -o turnpike -g turnpike -m 600 ~/tls.crt /var/lib/turnpike/tls/'
    await server.sh(`${copied}; systemctl kill -s HUP --kill-whom=main turnpike`)
    await untilSo(server, 'turnpike doctor', /certificate of shop\.example\.net: it is good for (?:59|60) days/)
    return undefined
  })
  await steps.step('the first week: a backup, restored into an empty place and verified there', async () => {
    const pages = 'operate/backup-and-upgrade.md'
    await reader.type(pages, ['backup backups/first', 'restore backups/first', 'verify --data restored'])
    await server.sh('echo TURNPIKE_BACKUP_FOLDER=/var/lib/turnpike/backups >>/etc/turnpike/turnpike.env')
    await server.sh('systemctl restart turnpike')
    return undefined
  })
  await steps.step('the first week: verify, with checkpoints that were kept; figures; who had an address', async () => {
    const said = await reader.type('operate/verify.md', ['export TURNPIKE', 'turnpike checkpoint', 'verify --against'])
    expectTold('verify', said, /1 checkpoints kept elsewhere/)
    for (const port of [9464, 9465]) {
      expectTold('figures', await server.sh(`curl -sS http://127.0.0.1:${port}/metrics`), /^turnpike_/m)
    }
    const asked = `${new URL(found.proxy).hostname} --from ${new Date().toISOString()}`
    const own = { '203.0.113.7 --from 2026-03-01T10:15:32Z': asked }
    await reader.follow('operate/privacy.md', 'turnpike address holders', own)
    await reader.follow('operate/privacy.md', 'turnpike customer export', { 'cus_…': found.customer })
    return undefined
  })
  await steps.step('the first week: operators with roles', async () => {
    await reader.follow('operate/operators.md', 'turnpike operator add helpdesk')
    return undefined
  })
}

async function thirdMonth(stage: Stage): Promise<void> {
  const { server, frankfurt, network, reader, steps, next, found } = stage
  await steps.step('the third month: to PostgreSQL, and back', async () => {
    const made = ["CREATE USER turnpike PASSWORD 'geheim'", 'CREATE DATABASE turnpike OWNER turnpike']
    // A base that was set up without its database server getting one makes it now, as whoever runs it would.
    await server.sh('ls /etc/postgresql/*/main || pg_createcluster "$(ls /usr/lib/postgresql)" main --start')
    await server.sh('timeout 60 sh -c "until pg_isready -q; do sleep 0.2; done"')
    for (const line of made) await server.sh(`cd /; su postgres -c "psql -c \\"${line}\\""`)
    const own = { 'PASSWORD@db.example.net': 'geheim@127.0.0.1' }
    const said = await reader.follow('operate/postgresql.md', 'turnpike move --to-file', own)
    expectTold('the move', said, /all are the same/)
    await through(server, found.proxy)
    const back = await reader.follow('operate/postgresql.md', 'turnpike move --to /var/lib/turnpike')
    expectTold('the move back', back, /all are the same/)
    await through(server, found.proxy)
    expectTold('verify', await server.sh('turnpike verify'), /All promises hold/)
    return undefined
  })
  await steps.step('the third month: a second gateway, on a machine of its own, that sells', async () => {
    const added = await reader.type('gateway.md', ['node add frankfurt-1'])
    const key = expectTold('its key', added, /tpj_[0-9a-z]+/)[0]
    await frankfurt.sh(
      'dpkg -i ~/first.deb; echo NODE_EXTRA_CA_CERTS=/etc/turnpike-ca.pem >>/etc/turnpike/turnpike.env',
    )
    await reader.follow('gateway.md', 'systemctl enable --now turnpike-gateway', { 'tpj_…': key })
    await untilSo(server, 'turnpike node list', /frankfurt-1 +gateway +frankfurt +online/)
    await server.sh('turnpike stock add 192.0.2.40/31 --country NL --ipv 4 --node frankfurt-1')
    await untilSo(server, 'turnpike stock ranges', /192\.0\.2\.40\/31 +frankfurt-1 +2 +2/)
    const buy = `curl -sS --cacert /etc/turnpike-ca.pem -H 'Authorization: Bearer ${found.token}' -H 'Content-Type: application/json' -d '{"country_code":"NL","period":30,"count":1,"ipv":4}' ${shop}/api/v1/dedicated/buy`
    const sold = await untilSo(frankfurt, buy, /"ok":true/)
    found.farProxy = proxyOf(sold)
    await through(frankfurt, found.farProxy)
    return undefined
  })
  await steps.step(`the third month: upgraded to ${next.version}, the gateway under ${customers} tunnels`, async () => {
    const connected = await connect(network, found.farProxy, customers, pageAddress)
    const upgrade = 'cd /root; apt-get -qy install ./next.deb'
    await server.sh(upgrade)
    await frankfurt.sh(upgrade)
    await untilSo(
      server,
      'turnpike node list',
      new RegExp(`frankfurt-1 .*online +${next.version.replaceAll('.', '\\.')}`),
    )
    await through(frankfurt, found.farProxy)
    await through(server, found.proxy)
    // And once more by hand, as the page says.
    await reader.follow('operate/backup-and-upgrade.md', 'systemctl reload turnpike-gateway', byHand)
    await connected.hangUp()
    await untilSo(server, 'turnpike doctor', /Nothing needs you\./)
    return undefined
  })
}

/** The page names three ways, of which one is taken. */
const byHand = { 'turnpike gateway reload --data DATA': 'true', 'turnpike gateway --take-over': 'true' }

async function years({ server, reader, steps, found }: Stage): Promise<void> {
  await steps.step('the years: what is done every week, month and quarter', async () => {
    for (const command of [
      'payments reconcile',
      'payments unmatched',
      'usage quarantine',
      'report days --csv',
      'audit list',
    ])
      await server.sh(`turnpike ${command}`)
    const log = await server.sh(`journalctl -u turnpike --since -60min -o cat | grep -c '"level":"error"' || true`)
    expectSame('errors in the log', log.trim(), '0')
    return undefined
  })
  await steps.step('the years: the key is lost, and put back from a backup', async () => {
    const key = '/var/lib/turnpike/secret.key'
    await server.sh(`systemctl stop turnpike; rm ${key}; ! systemctl start turnpike`)
    expectTold('the log', await server.sh('journalctl -u turnpike -n 20 -o cat'), /There is no \S+secret\.key/)
    await server.sh(`install -o turnpike -g turnpike -m 600 /var/lib/turnpike/backups/first/secret.key ${key}`)
    await server.sh('systemctl start turnpike')
    await through(server, found.proxy)
    return undefined
  })
  await steps.step('the years: a customer is erased, and nothing of him is left in the file', async () => {
    const own = { 'cus_…': found.customer }
    await reader.follow('operate/privacy.md', 'turnpike customer erase', own)
    await reader.follow('operate/privacy.md', 'turnpike compact')
    expectSame(
      'his name',
      (await server.sh(`grep -c 'First customer' /var/lib/turnpike/turnpike.db || true`)).trim(),
      '0',
    )
    const against = 'turnpike verify --against /var/lib/turnpike/checkpoints.jsonl'
    expectTold('verify', await server.sh(against), /All promises hold/)
    return undefined
  })
  await steps.step('the years: it has backed itself up meanwhile', async () => {
    await untilSo(server, 'ls -d /var/lib/turnpike/backups/turnpike-*Z', /Z$/m)
    return undefined
  })
}

async function lastDay({ server, frankfurt, steps }: Stage): Promise<void> {
  await steps.step('the last day: removed and purged, and the data are there', async () => {
    for (const machine of [server, frankfurt]) {
      await machine.sh('apt-get -qy remove turnpike')
      expectSame('who runs', (await machine.sh('pgrep -c -u turnpike || true')).trim(), '0')
      await machine.sh('apt-get -qy purge turnpike')
    }
    expectTold('the data', await server.sh('ls /var/lib/turnpike'), /turnpike\.db/)
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

/** Asked again and again, for half a minute. */
async function untilSo(machine: Machine, line: string, wanted: RegExp): Promise<string> {
  for (let tries = 0; ; tries += 1) {
    const said = await machine.sh(`${line} || true`)
    if (wanted.test(said)) return said
    if (tries === 120) expectTold(line, said, wanted)
    await Bun.sleep(500)
  }
}

const through = (machine: Machine, proxy: string) => untilSo(machine, `curl -sS --proxy ${proxy} ${page}`, /^you are /)

/** What the answer to a purchase says, as pages call it. */
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
