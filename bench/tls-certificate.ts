import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../test/harness/clients.ts'
import type { CertificateFiles } from './gateway-shop.ts'

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30']

/** A certificate and that of its issuer in one file, as ACME gives them. */
export async function writeCertificate(folder: string): Promise<CertificateFiles> {
  const fileOf = (name: string) => join(folder, name)
  const issuer = ['-keyout', fileOf('issuer.key'), '-out', fileOf('issuer.crt')]
  const own = ['-keyout', fileOf('tls.key'), '-out', fileOf('own.crt')]
  const names = ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-addext', 'basicConstraints=CA:FALSE']
  const signed = ['-CA', fileOf('issuer.crt'), '-CAkey', fileOf('issuer.key'), ...names]
  for (const args of [
    ['-subj', '/CN=issuer', ...issuer],
    ['-subj', '/CN=localhost', ...signed, ...own],
  ]) {
    const ran = await run('openssl', 'req', '-x509', ...newKey, ...args)
    if (ran.exit !== 0) throw new Error(ran.err)
  }
  const files = { cert: fileOf('tls.crt'), key: fileOf('tls.key') }
  writeFileSync(files.cert, readFileSync(fileOf('own.crt'), 'utf8') + readFileSync(fileOf('issuer.crt'), 'utf8'))
  // Squid reads them as another user.
  chmodSync(folder, 0o755)
  chmodSync(files.key, 0o644)
  return files
}
