import { expect } from 'bun:test'
import { type Ran, runProgram } from './run-program.ts'

/** Source address of clients in these tests. No other program uses it, so it identifies a leak. */
export const clientAddress = '127.9.9.9'

export const run = (...command: readonly string[]): Promise<Ran> => runProgram(command)

/** The result of a curl request. `connect` is the status of CONNECT, 0 without one; `heads` are all response heads. */
export type Curled = {
  readonly exit: number
  readonly status: number
  readonly connect: number
  readonly body: string
  readonly heads: string
  /** From the last response head that has it. */
  readonly error: string | undefined
}

export async function curl(...args: readonly string[]): Promise<Curled> {
  const common = ['-q', '-sS', '-k', '--max-time', '60', '--interface', clientAddress, '-D', '-']
  const { exit, out } = await run('curl', ...common, '-w', '\n%{http_code} %{http_connect}', ...args)
  const at = out.lastIndexOf('\n')
  const [status = '', connect = ''] = out.slice(at + 1).split(' ')
  const heads = /^(?:HTTP\/1\.1 [^]*?\r\n\r\n)*/.exec(out)?.[0] ?? ''
  return {
    exit,
    status: Number(status),
    connect: Number(connect),
    body: out.slice(heads.length, Math.max(heads.length, at)),
    heads,
    error: /^x-turnpike-error: (\S+)/im.exec(heads)?.[1],
  }
}

const telltale = /^(?:via|forwarded|x-forwarded|x-real-ip|x-client|client-ip|true-client-ip|x-turnpike|proxy-)/i

/** Expects no header at the origin that reveals the client or a proxy. */
export function expectNoTrace(headers: Readonly<Record<string, string>>): void {
  expect(Object.keys(headers).filter((name) => telltale.test(name))).toEqual([])
  expect(Object.values(headers).filter((value) => value.includes(clientAddress))).toEqual([])
}

/** Writes to stderr if a program is missing, so that the run shows the skipped check. */
export function hasProgram(name: string): boolean {
  const isThere = Bun.which(name) !== null
  if (!isThere) process.stderr.write(`${name} is not installed: nothing was tried with it\n`)
  return isThere
}
