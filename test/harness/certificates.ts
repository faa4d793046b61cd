import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from './clients.ts'

/** Self-signed certificates for this machine, made by openssl, each with its own name. */
export type Made = { readonly cert: string; readonly key: string }

export function makeCertificate(name: string, ...addresses: readonly string[]): Promise<Made> {
  const others = ['127.0.0.1', ...addresses].map((address) => `IP:${address}`)
  return makeWith(name, '-addext', `subjectAltName=DNS:localhost,DNS:shop.test,${others.join(',')}`)
}

/** As a page of the manual makes it: with a common name and no other. */
export const makeBareCertificate = (name: string): Promise<Made> => makeWith(name)

async function makeWith(name: string, ...extensions: readonly string[]): Promise<Made> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-certificate-'))
  const [cert, key] = [join(folder, 'a.crt'), join(folder, 'a.key')]
  const command = 'openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30'.split(' ')
  const ran = await run(...command, '-subj', `/CN=${name}`, ...extensions, '-keyout', key, '-out', cert)
  if (ran.exit !== 0) throw new Error(ran.err)
  const made = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
  rmSync(folder, { recursive: true })
  return made
}

/** A certificate in files, as an operator has it. */
export function putCertificate(made: Made) {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-tls-'))
  const files = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') }
  const write = (path: string, text: string): void => {
    writeFileSync(`${path}.new`, text, { mode: 0o600 })
    renameSync(`${path}.new`, path)
  }
  function replace({ cert, key }: Made): void {
    write(files.cert, cert)
    write(files.key, key)
  }
  replace(made)
  return {
    ...files,
    env: { TURNPIKE_TLS_CERT: files.cert, TURNPIKE_TLS_KEY: files.key },
    replace,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** The name in the certificate served at this port; undefined without a server. */
export async function servedAt(port: number, ...more: readonly string[]): Promise<string | undefined> {
  const { out } = await run('openssl', 's_client', '-connect', `127.0.0.1:${port}`, ...more)
  return /^subject=\s*CN\s*=\s*(\S+)/m.exec(out)?.[1]
}
