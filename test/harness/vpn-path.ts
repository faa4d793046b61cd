import { makeCertificate, putCertificate } from './certificates.ts'
import { type BoughtDevice, freePort } from './gateway.ts'
import { type GatewayProcess, makeGatewayProcess } from './gateway-process.ts'
import { runCommand, testDatabaseEnv, untilTrue } from './turnpike.ts'
import { openVpnGateway, type VpnGateway } from './vpn-gateway.ts'

export type VpnPath = Awaited<ReturnType<typeof openVpnPath>>

/** An entry for VPN devices, `openVpnGateway`'s, and an exit behind it in a process of its own. */
export async function openVpnPath(more: Readonly<Record<string, string>> = {}) {
  const entry = await openVpnGateway(more)
  const made = await makeCertificate('exit')
  const files = putCertificate(made)
  const exitTlsPort = freePort()
  const exit: GatewayProcess = await makeGatewayProcess(entry.shop, freePort(), {
    ...files.env,
    ...more,
    TURNPIKE_GATEWAY_TLS_PORT: String(exitTlsPort),
    TURNPIKE_GATEWAY_VPN: 'on',
  })
  await exit.start()
  const env = testDatabaseEnv(entry.shop.testDatabase)
  const run = async (...args: string[]) => {
    const ended = await runCommand([...args, '--json'], env)
    if (ended.exit !== 0) throw new Error(ended.err)
    return JSON.parse(ended.out)
  }
  const entryName = `gateway-${entry.shop.port}`
  const node = async () => (await run('node', 'show', exit.name)).node
  await run('node', 'entry', entryName)
  await run('node', 'exit', exit.name, '--via', entryName)
  await untilTrue(async () => (await node()).paths[0]?.state === 'up')

  return {
    entry,
    entryName,
    exit,
    /** The exit where it serves devices itself. */
    exitAt: { tlsPort: exitTlsPort, made },
    run,
    /** Bytes that the exit has relayed for the entry. */
    relayed: async (): Promise<number> => (await node()).relayed_bytes ?? 0,
    keysForExit: (device: BoughtDevice) => keysForExit(entry, device, exit.name),
    async stop() {
      await exit.stop()
      exit.remove()
      files.remove()
      await entry.stop()
    },
  }
}

type Outbound = { type: string; tag: string; server_port: number; uuid: string; username: string; password: string }

/** A device's keys for the exit, as an app gets them by the link; in a link, all ways have the same password. */
async function keysForExit({ shop, tlsPort }: VpnGateway, { id }: BoughtDevice, exit: string): Promise<BoughtDevice> {
  const url = (await shop.get('/vpn/info')).data.subscription_url
  const answer = await fetch(`${url}?format=singbox&device=${id}`)
  const { outbounds } = (await answer.json()) as { outbounds: Outbound[] }
  const ofExit = outbounds.filter(({ tag }) => tag.includes(` ${exit} `))
  if (ofExit.some(({ server_port: port }) => port !== tlsPort)) throw new Error('the link names another port')
  const find = (kind: string): Outbound => {
    const found = ofExit.find(({ type }) => type === kind)
    if (!found) throw new Error(`the link has no ${kind} for the exit`)
    return found
  }
  return { id: find('http').username, uuid: find('vless').uuid, password: find('http').password }
}
