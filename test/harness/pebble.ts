import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPackages } from './apt.ts'
import { freePort } from './gateway.ts'
import { selfSigned } from './self-signed.ts'
import { untilTrue } from './turnpike.ts'

/** A real ACME authority: Let's Encrypt's test server from Debian. It resolves every name to this machine. */
export type Pebble = {
  readonly directory: string
  /** The CA file for its own address. */
  readonly caFile: string
  /** The port of its HTTP challenges. */
  readonly challengePort: number
  /** The root certificate of its certificates. */
  root(): Promise<string>
  /** Stops answering during the work, as an authority that is down. */
  pauseFor<Result>(work: () => Promise<Result>): Promise<Result>
  stop(): Promise<void>
}

export async function startPebble(options: { readonly env?: Record<string, string> } = {}): Promise<Pebble> {
  if (Bun.which('pebble') === null) {
    const problem = await installPackages(['pebble'])
    if (problem !== undefined) throw new Error(problem)
  }
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-pebble-'))
  const [port, managing, challengePort, names, namesManaging] = Array.from({ length: 5 }, freePort)
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const caFile = file('own.crt', selfSigned.cert)
  const config = {
    pebble: {
      listenAddress: `127.0.0.1:${port}`,
      managementListenAddress: `127.0.0.1:${managing}`,
      certificate: caFile,
      privateKey: file('own.key', selfSigned.key),
      httpPort: challengePort,
      tlsPort: freePort(),
      ocspResponderURL: '',
      externalAccountBindingRequired: false,
    },
  }
  const quiet = { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' } as const
  const dns = Bun.spawn(
    ['pebble-challtestsrv', '-defaultIPv6', '', '-http01', '', '-https01', '', '-tlsalpn01', ''].concat([
      '-dns01',
      `127.0.0.1:${names}`,
      '-management',
      `127.0.0.1:${namesManaging}`,
    ]),
    quiet,
  )
  const pebble = Bun.spawn(
    ['pebble', '-config', file('config.json', JSON.stringify(config)), '-dnsserver', `127.0.0.1:${names}`],
    {
      ...quiet,
      env: { PATH: process.env['PATH'] ?? '', PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '20', ...options.env },
    },
  )
  const tls: object = { tls: { ca: selfSigned.cert } }
  const directory = `https://127.0.0.1:${port}/dir`
  const answers = async (): Promise<boolean> => {
    const answer = await fetch(directory, tls).catch(() => undefined)
    return answer?.ok === true
  }
  if (!(await untilTrue(answers))) throw new Error('pebble did not open')
  return {
    directory,
    caFile,
    challengePort: challengePort ?? 0,
    root: async () => (await fetch(`https://127.0.0.1:${managing}/roots/0`, tls)).text(),
    async pauseFor(work) {
      process.kill(pebble.pid, 'SIGSTOP')
      try {
        return await work()
      } finally {
        process.kill(pebble.pid, 'SIGCONT')
      }
    },
    async stop() {
      for (const child of [pebble, dns]) child.kill('SIGTERM')
      await Promise.all([pebble.exited, dns.exited])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
