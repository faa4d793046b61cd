import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPackages } from './apt.ts'
import { freePort } from './gateway.ts'
import { untilTrue } from './turnpike.ts'

/** A real SMTP server, Debian's aiosmtpd, that stores every letter in a folder. */
export type SmtpServer = {
  readonly url: string
  /** The letters so far, oldest first. */
  letters(): string[]
  /** Waits until so many have arrived, and returns them. */
  until(count: number): Promise<string[]>
  stop(): Promise<void>
}

/** Whether the server at this port sends an SMTP greeting; another program may have taken the port. */
const greets = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.setTimeout(1000, () => socket.destroy())
    socket.once('data', (data) => {
      resolve(data.toString('latin1').startsWith('220 '))
      socket.end('QUIT\r\n')
    })
    socket.once('error', () => socket.destroy())
    socket.once('close', () => resolve(false))
  })

async function startOn(program: string, port: number, mailbox: string): Promise<Bun.Subprocess | undefined> {
  const child = Bun.spawn([program, '-n', '-l', `127.0.0.1:${port}`, '-c', 'aiosmtpd.handlers.Mailbox', mailbox], {
    stdout: 'ignore',
    stderr: 'ignore',
  })
  const ended = () => child.exitCode !== null
  if ((await untilTrue(async () => ended() || (await greets(port)))) && !ended()) return child
  child.kill()
  await child.exited
  return undefined
}

/** By seconds, then microseconds, then the counter in the file name of a letter. */
const cameAt = (name: string): number[] => (/^(\d+)\.M(\d+)P\d+Q(\d+)/.exec(name) ?? []).slice(1).map(Number)

function byArrival(a: string, b: string): number {
  const [one, other] = [cameAt(a), cameAt(b)]
  const differs = one.findIndex((part, index) => part !== other[index])
  return differs === -1 ? 0 : (one[differs] ?? 0) - (other[differs] ?? 0)
}

/** Undefined where aiosmtpd cannot be installed. */
export async function startSmtp(): Promise<SmtpServer | undefined> {
  if (Bun.which('aiosmtpd') === null) await installPackages(['python3-aiosmtpd'])
  const program = Bun.which('aiosmtpd')
  if (program === null) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-smtp-'))
  const mailbox = join(folder, 'mail')
  let port = 0
  let child: Bun.Subprocess | undefined
  for (let tries = 0; tries < 3 && !child; tries += 1) {
    port = freePort()
    child = await startOn(program, port, mailbox)
  }
  if (!child) throw new Error('aiosmtpd has not opened its port')
  const server = child
  const letters = (): string[] => {
    const names = readdirSync(join(mailbox, 'new')).toSorted(byArrival)
    return names.map((name) => readFileSync(join(mailbox, 'new', name), 'utf8'))
  }
  return {
    url: `smtp://127.0.0.1:${port}`,
    letters,
    async until(count) {
      if (!(await untilTrue(() => letters().length >= count))) {
        throw new Error(`${letters().length} letters have come, not ${count}`)
      }
      return letters()
    },
    async stop() {
      server.kill()
      await server.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The decoded text of a letter. */
export function textOf(letter: string): string {
  const [head = '', ...rest] = letter.replaceAll('\r\n', '\n').split('\n\n')
  const body = rest.join('\n\n')
  if (/^content-transfer-encoding: base64$/im.test(head)) return Buffer.from(body, 'base64').toString()
  if (!/^content-transfer-encoding: quoted-printable$/im.test(head)) return body
  const bytes = body
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}
