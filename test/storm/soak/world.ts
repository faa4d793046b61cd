import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../../harness/apt.ts'
import { makeCertificate, putCertificate } from '../../harness/certificates.ts'
import { introduce } from '../../providers/shop.ts'
import type { Machine } from '../fleet/net.ts'
import { FleetWorld, leash } from '../fleet/world.ts'
import { RoleProcess } from '../role-process.ts'
import type { PayerSide } from './customer.ts'
import { Operator } from './operator.ts'

export const tlsPort = 10_443
const wireguardPort = 51_820
const hookPort = 8_443
const metricsPort = 9_464
/** The gateway takes the port after that of the setting. */
const gatewayMetricsPort = metricsPort + 1
/** Of eight addresses for each gateway. */
const ranges = 60
const shops = 2
const gateways = 2
/** Addresses that are used up within a soak; the others are held by customers. */
export const spareAddresses = 8 * ranges * gateways * 0.85

type Receiver = {
  readonly urlOf: (name: string) => string
  /** The messages of each customer, and the numbers of their events. */
  read(): Promise<Record<string, { readonly messages: number; readonly events: readonly number[] }>>
}

/** A fleet of two shops and two gateways with all that customers and operators use beside it. */
export type SoakWorld = {
  readonly fleet: FleetWorld
  readonly operator: Operator
  readonly payer: PayerSide
  readonly receiver: Receiver
  readonly backups: string
  metricsOf(machine: Machine): string
  close(): Promise<void>
}

const hostOf = (number: number): string => `45.20.${number}.2`

export async function openSoakWorld(): Promise<SoakWorld> {
  const hosts = Array.from({ length: gateways }, (_, at) => hostOf(at + 1))
  const certificate = putCertificate(await makeCertificate('soak', ...hosts))
  const fleet = await FleetWorld.open(
    'postgres',
    { gateways, shops, ranges },
    {
      shop: { TURNPIKE_GATEWAY_VPN: 'on', TURNPIKE_VPN_POOL: '10.66.0.0/18', NODE_EXTRA_CA_CERTS: certificate.cert },
      gateway: async ({ host }) => ({
        ...certificate.env,
        TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort),
        TURNPIKE_GATEWAY_VPN: 'on',
        TURNPIKE_METRICS_LISTEN: `${host}:${metricsPort}`,
      }),
    },
  )
  const vpnNode = await startVpnNode(fleet)
  const introduced = await fleet.operate((services) => introduce(services, 'yookassa'))
  const { side } = introduced
  const receiver = await openReceiver(fleet, certificate)
  const backups = join(fleet.folder, 'backups')
  mkdirSync(backups)
  return {
    fleet,
    operator: await Operator.open(fleet),
    payer: {
      bills: side.bills,
      pay: (id) => side.pay(id),
      notify: async (id) => {
        const url = `${fleet.url}/api/v1/payments/notify/yookassa`
        const answer = await fetch(url, { method: 'POST', ...side.notificationOf(id) }).catch(() => undefined)
        return answer?.ok ?? false
      },
    },
    receiver: receiver.receiver,
    backups,
    metricsOf: ({ host }) => `http://${host}:${gatewayMetricsPort}/metrics`,
    async close() {
      await side.stop()
      await receiver.stop()
      await vpnNode.stop()
      await fleet.close()
      certificate.remove()
    },
  }
}

/** On the machine of the last gateway. Without a WireGuard node a shop sells no VPN. */
async function startVpnNode(fleet: FleetWorld): Promise<RoleProcess> {
  const { machine } = fleet.gateways.at(-1) ?? {}
  if (!machine) throw new Error('there is no machine')
  const place = ['--location', 'nl', '--endpoint-host', machine.host, '--endpoint-port', String(wireguardPort)]
  const { key } = (await fleet.tool('node', 'add', 'wireguard', '--kind', 'vpn', ...place)) as { key: string }
  const inside = ['ip', 'netns', 'exec', machine.namespace]
  const device = `s${process.pid}`
  const node = new RoleProcess(
    'vpn-node',
    {
      TURNPIKE_DATA: join(fleet.folder, 'wireguard'),
      TURNPIKE_SHOP_URL: fleet.env['TURNPIKE_PUBLIC_URL'] ?? '',
      TURNPIKE_NODE_KEY: key,
      TURNPIKE_VPN_DEVICE: device,
      TURNPIKE_LOG: 'warn',
      NODE_EXTRA_CA_CERTS: join(fleet.folder, 'shop.pem'),
    },
    join(fleet.folder, 'wireguard.log'),
    async () => (await run([...inside, 'wg', 'show', device])).code === 0,
    [...inside, ...leash],
  )
  await node.start()
  return node
}

/** In the first gateway's network: a shop sends nothing to its own machine. */
async function openReceiver(fleet: FleetWorld, files: { readonly cert: string; readonly key: string }) {
  const machine = fleet.net.machines[0]
  if (!machine) throw new Error('there is no machine')
  const worker = join(import.meta.dir, 'receiver-worker.ts')
  const command = ['ip', 'netns', 'exec', machine.namespace, ...leash, process.execPath, worker]
  const child = Bun.spawn([...command, machine.host, String(hookPort), files.cert, files.key], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const { done } = await child.stdout.getReader().read()
  if (done) throw new Error('the receiver of webhooks did not open')
  const url = `https://${machine.host}:${hookPort}`
  const receiver: Receiver = {
    urlOf: (name) => `${url}/${name}`,
    read: async () => {
      const answer = await fetch(url, { tls: { rejectUnauthorized: false } })
      return (await answer.json()) as Awaited<ReturnType<Receiver['read']>>
    },
  }
  return {
    receiver,
    async stop() {
      child.kill()
      await child.exited
    },
  }
}

/** Writes the readings beside the logs of a soak that is kept. */
export const keepReadings = (folder: string, readings: unknown): void =>
  writeFileSync(join(folder, 'readings.json'), JSON.stringify(readings, undefined, 1))
