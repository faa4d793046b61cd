import { createHash, randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { join } from 'node:path'
import { findFreePort } from './free-port.ts'
import type { CertificateFiles } from './gateway-shop.ts'
import type { Stage } from './stage.ts'

const opensWithinMs = 10_000
const pollMs = 20

/** What the load presents: the digits of a UUID, or of SHA-224 of a Trojan password. */
const toVlessKey = (uuid: string): string => uuid.replaceAll('-', '')
const toTrojanKey = (password: string): string => createHash('sha224').update(password).digest('hex')

type Device = { readonly uuid: string; readonly password: string; readonly path: string }

export const routeOfDevice = (way: 'vless' | 'trojan' | 'ws' | 'xhttp', port: number, device: Device) => ({
  way,
  endpoint: `127.0.0.1:${port}`,
  user: way === 'trojan' ? toTrojanKey(device.password) : toVlessKey(device.uuid),
  password: way === 'trojan' ? '' : device.path,
})

const toInbound = (port: number, uuid: string, files: CertificateFiles, path?: string) => ({
  listen: '127.0.0.1',
  port,
  protocol: 'vless',
  settings: { clients: [{ id: uuid }], decryption: 'none' },
  streamSettings: {
    network: path === undefined ? 'tcp' : 'ws',
    security: 'tls',
    tlsSettings: { certificates: [{ certificateFile: files.cert, keyFile: files.key }] },
    ...(path !== undefined && { wsSettings: { path } }),
  },
})

/** Debian's servers of VPN devices, with a certificate; those that are not installed are named. */
export async function startDeviceServers(stage: Stage, say: (text: string) => void, files: CertificateFiles) {
  const device = { uuid: randomUUID(), password: randomUUID(), path: `/${'0123abcd'.repeat(4)}` }
  const [vlessPort, wsPort, trojanPort] = [await findFreePort(), await findFreePort(), await findFreePort()]
  const inbounds = [toInbound(vlessPort, device.uuid, files), toInbound(wsPort, device.uuid, files, device.path)]
  const v2ray = await start(stage, say, ['v2ray', '-config'], vlessPort, {
    log: { loglevel: 'none' },
    inbounds,
    outbounds: [{ protocol: 'freedom' }],
  })
  const trojan = await start(stage, say, ['trojan', '-c'], trojanPort, {
    run_type: 'server',
    local_addr: '127.0.0.1',
    local_port: trojanPort,
    remote_addr: '127.0.0.1',
    remote_port: vlessPort,
    password: [device.password],
    log_level: 5,
    ssl: { cert: files.cert, key: files.key, alpn: ['http/1.1'] },
    tcp: { no_delay: true, keep_alive: true },
  })
  const ofV2ray = v2ray === undefined ? undefined : { pid: v2ray, does: 'Go' }
  return {
    ...(ofV2ray && {
      vless: { ...ofV2ray, name: 'v2ray', route: routeOfDevice('vless', vlessPort, device) },
      ws: { ...ofV2ray, name: 'v2ray with WebSocket', route: routeOfDevice('ws', wsPort, device) },
    }),
    ...(trojan !== undefined && {
      trojan: { name: 'trojan', does: 'C++', pid: trojan, route: routeOfDevice('trojan', trojanPort, device) },
    }),
  }
}

/** The pid of a program that listens; undefined if it is not installed. */
async function start(
  stage: Stage,
  say: (text: string) => void,
  [name = '', ...flags]: readonly string[],
  port: number,
  config: unknown,
): Promise<number | undefined> {
  const program = Bun.which(name)
  if (program === null) {
    say(`  ${name} is NOT measured: it is not installed (apt-get install ${name})`)
    return undefined
  }
  const file = join(stage.makeFolder(), 'config.json')
  await Bun.write(file, JSON.stringify(config))
  const child = Bun.spawn([program, ...flags, file], { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' })
  stage.atEnd(async () => {
    child.kill()
    await child.exited
  })
  for (const startedMs = performance.now(); !(await isOpen(port)); await Bun.sleep(pollMs)) {
    if (child.exitCode !== null || performance.now() - startedMs > opensWithinMs)
      throw new Error(`${name} did not open`)
  }
  return child.pid
}

function isOpen(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(port, '127.0.0.1', () => {
    socket.destroy()
    resolve(true)
  })
  socket.once('error', () => resolve(false))
  return promise
}
