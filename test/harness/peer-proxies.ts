import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './gateway.ts'
import { RawClient } from './raw-client.ts'
import { waitLimitMs } from './until.ts'

/** A proxy of another project, running on this machine. */
export type PeerProxy = { readonly name: string; readonly port: number; stop(): Promise<void> }

const squidSettings = (port: number): string => `http_port 127.0.0.1:${port}
http_access allow all
cache deny all
pid_filename none
access_log none
cache_log /dev/null
coredump_dir none
via off
forwarded_for delete
pinger_enable off
shutdown_lifetime 0 seconds
`

const tinyproxySettings = (port: number): string => `Port ${port}
Listen 127.0.0.1
Timeout 5
MaxClients 200
DisableViaHeader Yes
LogLevel Critical
`

const haproxySettings = (port: number, origin: number): string => `defaults
  mode http
  timeout connect 2s
  timeout client 5s
  timeout server 5s
  http-reuse never
frontend in
  bind 127.0.0.1:${port}
  default_backend out
backend out
  server origin 127.0.0.1:${origin}
`

/**
 * Squid and tinyproxy forward requests as the gateway does. HAProxy runs before an origin and parses the forwarded
 * requests.
 */
const peers = {
  squid: { settings: squidSettings, command: (program: string, file: string) => [program, '-N', '-f', file] },
  tinyproxy: { settings: tinyproxySettings, command: (program: string, file: string) => [program, '-d', '-c', file] },
  haproxy: { settings: haproxySettings, command: (program: string, file: string) => [program, '-db', '-f', file] },
} as const

export type PeerName = keyof typeof peers

/** Daemons are in folders that are not on every PATH. */
export const findPeer = (name: PeerName): string | undefined =>
  Bun.which(name, { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/local/sbin` }) ?? undefined

/** Undefined if it is not installed. An installed proxy that does not start is an error. */
export async function startPeer(name: PeerName, originPort: number): Promise<PeerProxy | undefined> {
  const program = findPeer(name)
  if (program === undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), `turnpike-${name}-`))
  const port = freePort()
  const file = join(folder, 'settings')
  writeFileSync(file, peers[name].settings(port, originPort))
  const child = Bun.spawn(peers[name].command(program, file), { stdout: 'ignore', stderr: 'ignore' })
  const giveUpAt = performance.now() + waitLimitMs
  while (!(await answersAt(port))) {
    if (performance.now() > giveUpAt) throw new Error(`${name} did not start`)
    await Bun.sleep(20)
  }
  return {
    name,
    port,
    async stop() {
      child.kill('SIGKILL')
      await child.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function answersAt(port: number): Promise<boolean> {
  try {
    const client = await RawClient.open(port)
    client.reset()
    return true
  } catch {
    return false
  }
}
