import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BoughtDevice, freePort } from './gateway.ts'
import { untilTrue } from './turnpike.ts'

/** How a client program reaches a gateway. */
export type ClientForm = {
  readonly protocol: 'vless' | 'trojan'
  readonly network: 'tcp' | 'ws' | 'xhttp'
  readonly alpn: 'h2' | 'http/1.1'
  readonly path?: string
  /** Of XHTTP. */
  readonly mode?: string
  /** Sub-streams of Mux.Cool in one connection. */
  readonly mux?: number
}

type Where = { readonly tlsPort: number; readonly certificate: string; readonly device: BoughtDevice }

/** Login of the client's own SOCKS5 port. */
export const clientLogin = { username: 'anna', password: 'secret' }

function toOutbound({ protocol, network, alpn, path, mode, mux }: ClientForm, { tlsPort, certificate, device }: Where) {
  const at = { address: '127.0.0.1', port: tlsPort }
  const settings =
    protocol === 'vless'
      ? { vnext: [{ ...at, users: [{ id: device.uuid, encryption: 'none' }] }] }
      : { servers: [{ ...at, password: device.password }] }
  const certificates = [{ usage: 'verify', certificateFile: certificate }]
  return {
    protocol,
    settings,
    streamSettings: {
      network,
      security: 'tls',
      tlsSettings: { serverName: 'shop.test', alpn: [alpn], certificates },
      ...(network === 'ws' && { wsSettings: { path } }),
      ...(network === 'xhttp' && { xhttpSettings: { path, mode } }),
    },
    ...(mux !== undefined && { mux: { enabled: true, concurrency: mux } }),
  }
}

/** Starts a program that reads V2Ray's configuration, with a SOCKS5 port for TCP and UDP. */
export async function startV2ray(command: readonly string[], form: ClientForm, where: Where) {
  const port = freePort()
  const accounts = [{ user: clientLogin.username, pass: clientLogin.password }]
  const settings = { auth: 'password', accounts, udp: true, ip: '127.0.0.1' }
  const config = {
    log: { loglevel: 'warning' },
    inbounds: [{ listen: '127.0.0.1', port, protocol: 'socks', settings }],
    outbounds: [toOutbound(form, where)],
  }
  return startProgram(command, config, port)
}

/** Starts a program with its configuration in a file, and waits for its port. */
export async function startProgram(
  command: readonly string[],
  config: unknown,
  port: number,
  env: Readonly<Record<string, string>> = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-client-'))
  const file = join(folder, 'config.json')
  writeFileSync(file, JSON.stringify(config))
  const child = Bun.spawn([...command, file], {
    env: { ...process.env, ...env },
    stdout: Bun.file(join(folder, 'out')),
    stderr: Bun.file(join(folder, 'err')),
  })
  const isListening = async (): Promise<boolean> => {
    try {
      const socket = await Bun.connect({ hostname: '127.0.0.1', port, socket: { data() {} } })
      socket.end()
      return true
    } catch {
      return false
    }
  }
  await untilTrue(isListening)
  return {
    port,
    async stop() {
      child.kill()
      await child.exited
      rmSync(folder, { recursive: true })
    },
  }
}

/** Starts `trojan` with a SOCKS5 port without a login. */
export async function startTrojan({ tlsPort, certificate, device }: Where) {
  const port = freePort()
  const config = {
    run_type: 'client',
    local_addr: '127.0.0.1',
    local_port: port,
    remote_addr: '127.0.0.1',
    remote_port: tlsPort,
    password: [device.password],
    log_level: 2,
    ssl: { verify: true, verify_hostname: false, cert: certificate, sni: 'shop.test', alpn: ['http/1.1'] },
    tcp: { no_delay: true, keep_alive: true, reuse_port: false, fast_open: false, fast_open_qlen: 20 },
  }
  return startProgram(['trojan', '-c'], config, port)
}
