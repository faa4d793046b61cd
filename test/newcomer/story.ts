import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { debianVersion } from '../../tools/package/deb.ts'
import { version } from '../../tools/package/project.ts'
import { connect } from './connected.ts'
import { type Machine, openEmptyDebian } from './empty-debian.ts'
import { acmeDirectory, type Network, openNetwork, pageAddress, pageAddress6 } from './network.ts'
import { fenceIn } from './pages.ts'
import { createReader, type Reader } from './reader.ts'
import { expectMatch, expectSame, type Steps } from './steps.ts'

type Package = { readonly file: string; readonly version: string }

const page = `http://${pageAddress}/`
const shop = 'https://shop.example.net'
const packages = [
  'ca-certificates',
  'haproxy',
  'iproute2',
  'nftables',
  'openssl',
  'postgresql',
  'wireguard-go',
  'wireguard-tools',
]
const customers = 200
/** Purchases during the restart of one shop. Those of two restarts are fewer than the 256 addresses of the range. */
const maxPurchases = 100
const purchasePauseMs = 50
const trusted = '/etc/turnpike-ca.pem'
/** The settings of an operator who uses another authority than Let’s Encrypt. */
const acmeSettings = `TURNPIKE_ACME_DIRECTORY=${acmeDirectory}\nTURNPIKE_ACME_CA=${trusted}`

/** Values that earlier steps printed and later steps use. */
type Found = { customer: string; token: string; proxy: string; farProxy: string }

type Stage = {
  readonly server: Machine
  readonly frankfurt: Machine
  readonly amsterdam: Machine
  readonly network: Network
  readonly reader: Reader
  readonly steps: Steps
  readonly next: Package
  readonly found: Found
}

/**
 * Follows the pages of docs/operate in order on three empty machines in a public network: a server, a second gateway
 * (later also the second shop), and a VPN node (later also the load balancer).
 */
export async function tryStory(steps: Steps, first: Package, next: Package): Promise<void> {
  const network = await openNetwork()
  const opened: Machine[] = []
  const open = async () => {
    const machine = await openEmptyDebian(packages)
    opened.push(machine)
    return machine
  }
  try {
    const [server, frankfurt, amsterdam] = [await open(), await open(), await open()]
    if (!server.hasSystemd) return steps.leaveOut('the pages for operators', 'there is no systemd')
    const found: Found = { customer: '', token: '', proxy: '', farProxy: '' }
    const named = `turnpike_${debianVersion(version)}_amd64.deb`
    const own = { [named]: 'first.deb', 'https://example.com/': page }
    const machines = {
      server,
      shop: server,
      'shop-1': server,
      'frankfurt-1': frankfurt,
      gateway: frankfurt,
      customer: frankfurt,
      'shop-2': frankfurt,
      amsterdam,
      balancer: amsterdam,
    }
    const reader = createReader(machines, own)
    const stage = { server, frankfurt, amsterdam, network, reader, steps, next, found }
    await prepare(stage, first)
    await firstDay(stage)
    await firstWeek(stage)
    await thirdMonth(stage)
    await years(stage)
    await twoShops(stage)
    await lastDay(stage)
  } finally {
    await Promise.all([...opened, network].map((each) => each.end()))
  }
}

async function prepare({ server, frankfurt, amsterdam, network, next }: Stage, first: Package): Promise<void> {
  for (const machine of [server, frankfurt, amsterdam]) {
    copyFileSync(first.file, join(machine.folder, 'root/first.deb'))
    copyFileSync(next.file, join(machine.folder, 'root/next.deb'))
    await machine.sh("echo 'nameserver 192.0.2.1' >/etc/resolv.conf; systemctl enable --now systemd-networkd")
  }
  const range = '203.0.113.0/24'
  await network.join(server, { link: 2, inside: 11, addresses: ['198.51.100.7'], ranges: [range, '2001:db8:7::/48'] })
  await network.join(frankfurt, { link: 3, inside: 12, ranges: ['198.51.100.128/25'] })
  await network.join(amsterdam, { link: 4, inside: 10 })
  const ours = ['shop', 'gw', 'proxy'].map((name) => [`${name}.example.net`, '192.0.2.2'])
  network.setNames({
    ...Object.fromEntries(ours),
    'frankfurt-1.example.net': '192.0.2.3',
    'vpn.example.net': '192.0.2.4',
  })
}

async function firstDay({ server, frankfurt, amsterdam, network, reader, steps, found }: Stage): Promise<void> {
  await steps.step('day one: install.md installs and starts the shop, and doctor finds nothing', async () => {
    const settings = `TURNPIKE_PUBLIC_URL=${shop}\nTURNPIKE_GATEWAY_HOST=gw.example.net\nTURNPIKE_VPN_HOST=vpn.example.net`
    const written = `cat >>/etc/turnpike/turnpike.env <<'END'\n${settings}\nEND`
    const printed = await reader.follow('operate/install.md', 'apt install ./turnpike', {
      'editor /etc/turnpike/turnpike.env': written,
    })
    expectMatch('doctor', printed, /Nothing to do\./)
    expectMatch('prices', printed, /Version 1 is in force\./)
    return undefined
  })
  await steps.step('day one: ranges.md puts an IPv4 and an IPv6 range on the machine by its command', async () => {
    const onServer = createReader({ gateway: server, shop: server }, {})
    await onServer.follow('operate/ranges.md', 'turnpike range setup 2001:db8:7::/48 --apply', {
      ' --node gate-1': ' --node local-gateway',
    })
    const fetchFrom = (address: string, host: string) => server.sh(`curl -sS --interface ${address} http://${host}/`)
    expectMatch('from IPv4', await fetchFrom('203.0.113.200', pageAddress), /^you are 203\.0\.113\.200$/m)
    expectMatch('from IPv6', await fetchFrom('2001:db8:7::5', `[${pageAddress6}]`), /^you are 2001:db8:7::5$/m)
    await untilPrints(server, 'turnpike stock ranges', /203\.0\.113\.0\/24 +local-gateway +no +256 +256/)
    return undefined
  })
  await steps.step('day one: install.md adds an exit, a customer and money', async () => {
    const install = 'operate/install.md'
    await reader.type(install, ['exit add residential'])
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
    for (const machine of [server, frankfurt, amsterdam]) {
      await machine.sh(`cat >${trusted} <<'END'\n${await server.sh('cat ~/ca.crt')}\n${network.certificates}\nEND`)
    }
    await server.sh(`echo NODE_EXTRA_CA_CERTS=${trusted} >>/etc/turnpike/turnpike.env`)
    await reader.follow('operate/tls.md', 'TURNPIKE_TLS_CERT', await editedUnit('turnpike-shop'))
    await untilPrints(server, 'turnpike stock ranges', /203\.0\.113\.0\/24 +local-gateway +no +256 +256/)
    expectMatch('doctor', await server.sh('turnpike doctor'), /ok +certificate of shop\.example\.net/)
    return undefined
  })
  await steps.step('day one: install.md sells a proxy that fetches a page', async () => {
    const curl = `curl -sS --cacert ${trusted}`
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
    const curl = { 'curl ': `curl -sS --proxy-cacert ${trusted} ` }
    await reader.follow('operate/tls.md', 'echo TURNPIKE_GATEWAY_TLS_PORT', { ...curl, ...loginOf(found.proxy) })
    await server.sh(
      `cd /root; openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -days 60 -extfile ext -out tls.crt`,
    )
    const copied = 'install -o turnpike -g turnpike -m 600 ~/tls.crt /var/lib/turnpike/tls/'
    await server.sh(`${copied}; systemctl kill -s HUP --kill-whom=main turnpike-shop`)
    await untilPrints(server, 'turnpike doctor', /certificate of shop\.example\.net: it is valid for (?:59|60) days/)
    return undefined
  })
  await steps.step(
    'week one: tls.md requests a certificate by ACME, for the shop and for proxies over TLS',
    async () => {
      await server.sh(
        `sed -i /^TURNPIKE_TLS_/d /etc/turnpike/turnpike.env; printf '${acmeSettings}\\n' >>/etc/turnpike/turnpike.env`,
      )
      const edited = await editedUnit('turnpike-shop')
      await reader.follow('operate/tls.md', 'TURNPIKE_ACME_NAMES=shop.example.net', edited)
      await untilPrints(server, 'journalctl -u turnpike-shop -o cat', /certificate renewed/)
      expectMatch('the issuer', await server.sh(issuerOf('shop.example.net:443')), /Pebble/)
      await throughTls(server, found.proxy, 'gw.example.net')
      await untilPrints(server, 'turnpike doctor', /Nothing to do\./)
      return undefined
    },
  )
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
  await steps.step('week one: backup-and-upgrade.md restores a backup in place of the live folder', async () => {
    await server.sh('turnpike customer create "Created after the backup"')
    await reader.follow('operate/backup-and-upgrade.md', 'mv /var/lib/turnpike /var/lib/turnpike.old', {
      BACKUP: 'first',
    })
    expectSame(
      'customers created after the backup',
      (await server.sh('turnpike customer list | grep -c "after the backup" || true')).trim(),
      '0',
    )
    await through(server, found.proxy)
    await throughTls(server, found.proxy, 'gw.example.net')
    await untilPrints(server, 'turnpike doctor', /Nothing to do\./)
    await server.sh('rm -r /var/lib/turnpike.old')
    return undefined
  })
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
  const { server, frankfurt, amsterdam, network, reader, steps, next, found } = stage
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
    await frankfurt.sh(`dpkg -i ~/first.deb; echo NODE_EXTRA_CA_CERTS=${trusted} >>/etc/turnpike/turnpike.env`)
    await reader.follow('gateway.md', 'systemctl enable --now turnpike-gateway', { 'tpj_…': key })
    await untilPrints(server, 'turnpike node list', /frankfurt-1 +gateway +frankfurt +online/)
    await frankfurt.sh('turnpike range setup 198.51.100.128/25 --apply')
    await server.sh('turnpike stock add 198.51.100.128/25 --country NL --ipv 4 --node frankfurt-1')
    await untilPrints(server, 'turnpike stock ranges', /198\.51\.100\.128\/25 +frankfurt-1 +no +128 +128/)
    found.farProxy = proxyOf(await untilPrints(frankfurt, buy(found.token, 'NL'), /"ok":true/))
    await through(frankfurt, found.farProxy)
    return undefined
  })
  await steps.step(
    'month three: tls.md gives the second gateway its own certificate by ACME, and reloads it',
    async () => {
      const settings = `printf '${acmeSettings}\\n' >>/etc/turnpike/turnpike-gateway.env`
      await frankfurt.sh(settings)
      await reader.follow('operate/tls.md', 'TURNPIKE_ACME_NAMES=frankfurt-1', await editedUnit('turnpike-gateway'))
      await untilPrints(frankfurt, 'journalctl -u turnpike-gateway -o cat', /certificate renewed/)
      await throughTls(server, found.farProxy, 'frankfurt-1.example.net')
      const connected = await connect(network, found.farProxy, customers, pageAddress)
      // Both processes have a challenge server on port 80, one after the other.
      for (let count = 0; count < 2; count += 1) await frankfurt.sh('systemctl reload turnpike-gateway')
      await throughTls(server, found.farProxy, 'frankfurt-1.example.net')
      expectMatch('port 80', await frankfurt.sh('ss -Hltn sport = :80'), /:80 /)
      await connected.hangUp()
      await untilPrints(frankfurt, 'turnpike doctor', /Nothing to do\./)
      return undefined
    },
  )
  await steps.step('month three: vpn.md adds a VPN node on a third machine, and its unit runs it', async () => {
    const added = await reader.type('vpn.md', ['node add amsterdam'])
    const key = expectMatch('its key', added, /tpj_[0-9a-z]+/)[0]
    await amsterdam.sh(`dpkg -i ~/first.deb; echo NODE_EXTRA_CA_CERTS=${trusted} >>/etc/turnpike/turnpike.env`)
    await reader.follow('vpn.md', 'systemctl enable --now turnpike-vpn-node', { 'tpj_…': key })
    await untilPrints(server, 'turnpike node list', /amsterdam +vpn +nl +online/)
    const log = await amsterdam.sh('journalctl -u turnpike-vpn-node -o cat')
    const [, kind] = expectMatch('the device', log, /vpn device is up.*"kind":"([a-z-]+)"/)
    await amsterdam.sh('systemctl restart turnpike-vpn-node')
    expectSame(
      'lost counts',
      (await amsterdam.sh('journalctl -u turnpike-vpn-node -g "no last count" -q || true')).trim(),
      '',
    )
    await untilPrints(amsterdam, 'turnpike doctor', /Nothing to do\./)
    const restarted = await amsterdam.sh('journalctl -u turnpike-vpn-node -o cat')
    const [, gone = '', up = ''] = expectMatch(
      'the restart',
      restarted,
      /"at":"([^"]+)".*vpn device is gone.*"restarts":true[^]*firewall and sessions taken over.*\n.*"at":"([^"]+)".*vpn device is up/,
    )
    await amsterdam.sh('systemctl stop turnpike-vpn-node')
    expectMatch('the stop', await amsterdam.sh('turnpike vpn-node status'), /none has left anything behind/)
    await amsterdam.sh('systemctl start turnpike-vpn-node')
    await untilPrints(server, 'turnpike node list', /amsterdam +vpn +nl +online/)
    return `${kind}, which a restart closed for ${(Date.parse(up) - Date.parse(gone)) / 1000} s`
  })
  await steps.step(
    `month three: an upgrade to ${next.version} on three machines keeps ${customers} tunnels of each gateway open`,
    async () => {
      const connected = await connect(network, found.farProxy, customers, pageAddress)
      const besideShop = await connect(network, found.proxy, customers, pageAddress)
      const upgrade = 'cd /root; apt-get -qy install ./next.deb'
      await server.sh(upgrade)
      await frankfurt.sh(upgrade)
      await amsterdam.sh(upgrade)
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
      for (const machine of [server, frankfurt, amsterdam])
        await untilPrints(machine, 'turnpike doctor', /Nothing to do\./)
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

async function twoShops(stage: Stage): Promise<void> {
  const { server, frankfurt, amsterdam, network, reader, steps } = stage
  await steps.step('years: balancer.md puts two shops on PostgreSQL behind HAProxy', async () => {
    const cluster = '"$(ls /etc/postgresql)"'
    await server.sh(`echo 'host all turnpike 10.0.0.0/24 scram-sha-256' >>/etc/postgresql/${cluster}/main/pg_hba.conf
echo "listen_addresses = '10.0.0.11,127.0.0.1'" >>/etc/postgresql/${cluster}/main/postgresql.conf
pg_ctlcluster ${cluster} main restart`)
    for (const line of ['DROP DATABASE turnpike', 'CREATE DATABASE turnpike OWNER turnpike'])
      await server.sh(`cd /; su postgres -c "psql -c '${line}'"`)
    network.setNames({ 'db.example.net': '10.0.0.11' })
    const own = { ':PASSWORD@': ':geheim@' }
    await reader.follow('operate/postgresql.md', 'turnpike move --to-file', own)
    const key = expectMatch(
      'the key',
      await reader.follow('operate/balancer.md', 'cat /var/lib/turnpike/secret.key'),
      /^[0-9a-f]{64}$/m,
    )[0]
    for (const name of ['shop.pem', 'haproxy.cfg', 'deploy-certificate.sh']) {
      copyFileSync(join(server.folder, 'root', name), join(amsterdam.folder, 'root', name))
    }
    const second = { ...own, 'SECRET_KEY=KEY': `SECRET_KEY=${key}`, 'first.deb': 'next.deb' }
    await reader.follow('operate/balancer.md', 'TURNPIKE_HOST=10.0.0.12', second)
    await reader.follow('operate/balancer.md', 'apt install haproxy')
    network.setNames({ 'shop.example.net': '192.0.2.4' })
    await reader.follow('operate/balancer.md', 'TURNPIKE_HOST=10.0.0.11')
    await server.sh(`printf '${acmeSettings}\\n' >>/etc/turnpike/turnpike-gateway.env`)
    await reader.follow('operate/balancer.md', 'TURNPIKE_ACME_NAMES=gw', await editedUnit('turnpike-gateway'))
    for (const machine of [server, frankfurt]) {
      await untilPrints(machine, `curl -sS --cacert ${trusted} ${shop}/readyz`, /"ok":true/)
    }
    await untilPrints(server, 'turnpike node list', /frankfurt-1 .*online/)
    await untilPrints(server, 'turnpike node list', /local-gateway .*online/)
    return undefined
  })
  await steps.step(
    'years: purchases continue while each of the two shops restarts, and each is charged once',
    async () => {
      const made = await server.sh(`turnpike customer create 'Second customer'`)
      const customer = expectMatch('the customer', made, /cus_[0-9a-z]+/)[0]
      const credit = 100_000
      await server.sh(`turnpike credit ${customer} ${credit}`)
      const token = expectMatch(
        'the token',
        await server.sh(`turnpike token create ${customer}`),
        /tp_live_[0-9a-z]+/,
      )[0]
      const sell = async (key: string) => {
        const printed = await amsterdam.sh(buy(token, 'DE', key))
        expectMatch('a purchase', printed, /"ok":true/)
        return printed
      }
      let sold = 0
      for (const [index, machine] of [server, frankfurt].entries()) {
        const state = { isOver: false }
        const restarted = machine.sh('systemctl restart turnpike-shop').finally(() => {
          state.isOver = true
        })
        for (let count = 0; count < maxPurchases && (count < 5 || !state.isOver); count += 1) {
          await sell(`restart-${sold}`)
          sold += 1
          await Bun.sleep(purchasePauseMs)
        }
        await restarted
        // The last line about this shop: an earlier step made HAProxy log the same.
        const lines = `journalctl -u haproxy -o cat | grep 'shop-${index + 1} is ' | tail -n 1`
        await untilPrints(amsterdam, lines, /is UP/)
      }
      const first = /"id":(\d+)/.exec(await sell('restart-0'))?.[1]
      expectSame('the proxy of a repeated purchase', /"id":(\d+)/.exec(await sell('restart-0'))?.[1], first)
      const last = await sell('after')
      const roubles = (name: string) => Number(expectMatch(name, last, new RegExp(`"${name}":([\\d.]+)`))[1])
      expectSame('the balance', roubles('balance_rub'), credit - (sold + 1) * roubles('price_rub'))
      await through(frankfurt, proxyOf(last))
      expectMatch('verify', await server.sh('turnpike verify'), /No problem found/)
      for (const machine of [server, frankfurt, amsterdam])
        await untilPrints(machine, 'turnpike doctor', /Nothing to do\./)
      return `${sold + 1} purchases, each charged once`
    },
  )
}

async function lastDay({ server, frankfurt, amsterdam, steps }: Stage): Promise<void> {
  await steps.step('last day: apt-get remove and purge keep the data', async () => {
    for (const machine of [server, frankfurt, amsterdam]) {
      await machine.sh('apt-get -qy remove turnpike')
      expectSame('running processes', (await machine.sh('pgrep -c -u turnpike || true')).trim(), '0')
      await machine.sh('apt-get -qy purge turnpike')
      expectSame('settings', (await machine.sh('ls /etc/turnpike 2>/dev/null || true')).trim(), '')
    }
    expectMatch('the data', await server.sh('ls /var/lib/turnpike'), /secret\.key/)
    return undefined
  })
}

/** `systemctl edit UNIT` as the page has it: writes the drop-in that lets a unit use ports below 1024. */
async function editedUnit(unit: string): Promise<Record<string, string>> {
  const [folder, dropIn] = [`/etc/systemd/system/${unit}.service.d`, await fenceIn('operate/tls.md', 'ini')]
  const written = `mkdir -p ${folder}; cat >${folder}/override.conf <<'END'\n${dropIn}\nEND\nsystemctl daemon-reload`
  return { [`systemctl edit ${unit}`]: written }
}

const buy = (token: string, country: string, key = country): string =>
  `curl -sS --cacert ${trusted} -H 'Authorization: Bearer ${token}' ` +
  `-H 'Content-Type: application/json' -H 'Idempotency-Key: ${key}' ` +
  `-d '{"country_code":"${country}","period":30,"count":1,"ipv":4}' ${shop}/api/v1/dedicated/buy`

const issuerOf = (address: string): string =>
  `openssl s_client -connect ${address} -servername ${address.split(':')[0]} </dev/null 2>/dev/null | openssl x509 -noout -issuer`

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

async function throughTls(machine: Machine, proxy: string, name: string): Promise<string> {
  const { username, password } = new URL(proxy)
  const url = `https://${username}:${password}@${name}:10443`
  return untilPrints(machine, `curl -sS --proxy-cacert ${trusted} --proxy ${url} ${page}`, /^you are /)
}

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
