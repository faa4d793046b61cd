import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPackages } from './apt.ts'
import { untilTrue } from './turnpike.ts'

/** A real SMTP server, Debian's aiosmtpd, that keeps every letter in a folder. */
export type SmtpServer = {
  readonly url: string
  /** The letters so far, the oldest first, as they came. */
  letters(): string[]
  /** Waits until so many have come, and returns them. */
  until(count: number): Promise<string[]>
  stop(): Promise<void>
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}

/** Undefined where there is none to be had: then its tests say so. */
export async function startSmtp(): Promise<SmtpServer | undefined> {
  if (Bun.which('aiosmtpd') === null) await installPackages(['python3-aiosmtpd'])
  const program = Bun.which('aiosmtpd')
  if (program === null) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-smtp-'))
  const port = await freePort()
  const mailbox = join(folder, 'mail')
  const child = Bun.spawn([program, '-n', '-l', `127.0.0.1:${port}`, '-c', 'aiosmtpd.handlers.Mailbox', mailbox], {
    stdout: 'ignore',
    stderr: 'ignore',
  })
  const isUp = () =>
    Bun.connect({ hostname: '127.0.0.1', port, socket: { data() {} } }).then(
      (socket) => Boolean(socket.end()) || true,
      () => false,
    )
  if (!(await untilTrue(isUp))) throw new Error('aiosmtpd has not opened its port')
  const letters = (): string[] => {
    const names = readdirSync(join(mailbox, 'new')).toSorted()
    return names.map((name) => readFileSync(join(mailbox, 'new', name), 'utf8'))
  }
  return {
    url: `smtp://127.0.0.1:${port}`,
    letters,
    async until(count) {
      await untilTrue(() => letters().length >= count)
      return letters()
    },
    async stop() {
      child.kill()
      await child.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** What a letter says, whatever its transfer encoding is. */
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
