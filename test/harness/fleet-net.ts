import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createVault } from '../../src/adapters/crypto.ts'
import { readConfig } from '../../src/app/settings/config.ts'
import { openVault } from '../../src/app/shop/database.ts'
import { createServices, realRuntime, type Services } from '../../src/app/shop/services.ts'
import type { Vault } from '../../src/core/vault.ts'
import { openDatabase } from '../../src/db/open.ts'
import { run } from './apt.ts'
import { batch, removeLeftovers } from './netns.ts'
import { selfSignedShop } from './self-signed.ts'
import { untilTrue } from './turnpike.ts'

const program = join(import.meta.dir, '../../src/app/turnpike.ts')
/** A gateway that tries its addresses ten times as often. */
const quickGateway = join(import.meta.dir, 'quick-gateway-worker.ts')
const front = join(import.meta.dir, 'tls-front-worker.ts')

/** The shop's address for all gateways: in its own namespace, over TLS. */
const shopAddress = '45.13.0.1'
const shopUrl = `https://${shopAddress}:8443`
export const gatewayPort = 10_800

/** A shop and gateways, each in its own network namespace, connected by veth pairs. */
export type FleetNet = {
  readonly shopData: string
  startShop(): void
  startGateway(index: number, key: string): Bun.Subprocess
  /** Starts an HTTPS server at port 8443 of an address in the shop's network. */
  startOrigin(address: string): void
  /** Runs `ip` in a gateway's network. */
  ip(index: number, args: string): Promise<void>
  /** Requests a page from a gateway's network through a proxy, and returns the head of the answer. */
  askThrough(index: number, proxy: string, url: string): Promise<string>
  /** Drops or passes packets from an address into the shop's network. */
  drop(source: string, isDropped: boolean): Promise<void>
  close(): Promise<void>
}

/** Gateway 1 has addresses in 45.12.1.0/24, gateway 2 in 45.12.2.0/24, and so on. */
export async function openFleetNet(gateways: number): Promise<FleetNet> {
  await removeLeftovers()
  const name = (part: string | number) => `tpt${process.pid}-fleet-${part}`
  const all = ['shop', ...Array.from({ length: gateways }, (_, at) => at + 1)].map(name)
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-fleet-'))
  const children: Bun.Subprocess[] = []
  writeFileSync(join(folder, 'cert.pem'), selfSignedShop.cert)

  async function close(): Promise<void> {
    for (const child of children) child.kill('SIGKILL')
    await Promise.all(children.map((child) => child.exited))
    for (const each of all) await run(['ip', 'netns', 'delete', each])
    rmSync(folder, { recursive: true, force: true })
  }

  function start(namespace: string, script: string, args: string[], env: Record<string, string>): Bun.Subprocess {
    const leash = ['ip', 'netns', 'exec', namespace, 'setpriv', '--pdeathsig', 'KILL']
    const child = Bun.spawn([...leash, process.execPath, '--no-env-file', script, ...args], {
      env: { PATH: process.env['PATH'] ?? '', TURNPIKE_LOG: 'error', ...env },
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'inherit',
    })
    children.push(child)
    return child
  }

  try {
    await lay(name, gateways)
  } catch (error) {
    await close()
    throw error
  }
  const shopData = join(folder, 'shop')
  return {
    shopData,
    startShop() {
      const env = { TURNPIKE_DATA: shopData, TURNPIKE_SANDBOX: 'off', TURNPIKE_TRUSTED_PROXIES: '127.0.0.1/32' }
      start(name('shop'), program, ['shop'], env)
      start(name('shop'), front, [shopAddress], {})
    },
    startGateway: (index, key) =>
      start(name(index), quickGateway, ['gateway'], {
        TURNPIKE_DATA: join(folder, `gateway-${index}`),
        TURNPIKE_SHOP_URL: shopUrl,
        TURNPIKE_NODE_KEY: key,
        NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem'),
      }),
    startOrigin: (address) => void start(name('shop'), front, [address], {}),
    ip: (index, args) => batch([args], name(index)),
    askThrough: async (index, proxy, url) =>
      (await run(['ip', 'netns', 'exec', name(index), 'curl', '-s', '-o', '/dev/null', '-D', '-', '-x', proxy, url]))
        .out,
    async drop(source, isDropped) {
      // The return route is a blackhole: packets from there are never answered.
      await batch([`route ${isDropped ? 'add' : 'del'} blackhole ${source}/32`], name('shop'))
    },
    close,
  }
}

/** Starts the shop of a fleet and opens its database in this process. */
export async function openFleetShop(net: FleetNet): Promise<Services> {
  net.startShop()
  const databasePath = `${net.shopData}/turnpike.db`
  if (!(await untilTrue(() => existsSync(databasePath)))) throw new Error('the shop did not open')
  const db = openDatabase(databasePath)
  const open = (vault: Vault) =>
    createServices(db, realRuntime, { vault, gateway: { host: '127.0.0.1', port: gatewayPort } })
  const { customers } = open(createVault(new Uint8Array(32)))
  const isOpen = () =>
    customers
      .mode()
      .then((mode) => mode !== undefined)
      .catch(() => false)
  if (!(await untilTrue(isOpen))) throw new Error('the shop did not open')
  return open((await openVault(readConfig({ TURNPIKE_DATA: net.shopData }), db)).vault)
}

/** Adds gateway number `index` with the endpoint of its machine, and returns its join key. */
export async function addFleetGateway({ db, fleet }: Services, index: number, name: string): Promise<string> {
  const endpoint = { host: `45.12.${index}.2`, port: gatewayPort }
  await db.transact((tx) => fleet.add(tx, { kind: 'gateway', name, location: 'test', endpoint }))
  return (await fleet.issueKey(name)).text
}

async function lay(name: (part: string | number) => string, gateways: number): Promise<void> {
  const shop = name('shop')
  await batch([`netns add ${shop}`])
  await batch(['link set dev lo up', `address add ${shopAddress}/32 dev lo`], shop)
  // Gateways reach each other through the shop's network.
  await run(['ip', 'netns', 'exec', shop, 'sysctl', '-q', '-w', 'net.ipv4.ip_forward=1'])
  for (let index = 1; index <= gateways; index += 1) {
    const own = name(index)
    await batch([`netns add ${own}`, `link add g${index} netns ${shop} type veth peer name w0 netns ${own}`])
    await batch([`link set dev g${index} up`, `address add 45.12.${index}.1/24 dev g${index}`], shop)
    await batch(
      [
        'link set dev lo up',
        'link set dev w0 up',
        `address add 45.12.${index}.2/24 dev w0`,
        `route add default via 45.12.${index}.1`,
      ],
      own,
    )
  }
}
