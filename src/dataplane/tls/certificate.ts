import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { existsSync, readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../../core/log.ts'
import type { Clock } from '../../core/time.ts'
import { writeOwnFile } from '../agent/own-file.ts'

/** Certificate chain and key as PEM. */
export type Certificate = {
  readonly cert: string
  readonly key: string
  /** DNS names and IP addresses, lower case. */
  readonly names: readonly string[]
  readonly beginsAt: number
  readonly endsAt: number
  readonly digest: string
}

/** Whether clients accept the certificate for a name. A wildcard covers one label. */
export const coversName = ({ names }: Pick<Certificate, 'names'>, name: string): boolean =>
  names.includes(name) || names.includes(name.replace(/^[^.]+/, '*'))

/** The message contains no part of a key. */
export class BadCertificate extends Error {
  override readonly name = 'BadCertificate'
}

/** Parses a chain and its key; expired certificates are accepted. */
export function readCertificate(cert: string, key: string): Certificate {
  const own = readOwn(cert)
  if (!own.checkPrivateKey(readKey(key))) throw new BadCertificate('the key does not belong to the certificate')
  return {
    cert,
    key,
    names: namesIn(own.subjectAltName ?? ''),
    beginsAt: Date.parse(own.validFrom),
    endsAt: Date.parse(own.validTo),
    digest: createHash('sha256').update(own.raw).digest('hex'),
  }
}

/** The first certificate is the server's own. */
function readOwn(cert: string): X509Certificate {
  const blocks = cert.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? []
  if (blocks.length === 0) throw new BadCertificate('there is no certificate in PEM form')
  try {
    const [own] = blocks.map((block) => new X509Certificate(block))
    if (own) return own
  } catch {
    // Reported below.
  }
  throw new BadCertificate('the certificate cannot be read')
}

function readKey(key: string) {
  try {
    return createPrivateKey(key)
  } catch {
    throw new BadCertificate('the key cannot be read; it must be in PEM form and not under a password')
  }
}

/** As formatted by the library. */
const namesIn = (text: string): string[] =>
  text.split(', ').flatMap((part) => /^(?:DNS|IP Address):(.+)$/.exec(part)?.[1]?.toLowerCase() ?? [])

const isInForce = ({ beginsAt, endsAt }: Certificate, nowMs: number): boolean => beginsAt <= nowMs && nowMs < endsAt

export type CertificateFiles = { readonly cert: string; readonly key: string }

export const acmeFiles = (folder: string): CertificateFiles => ({
  cert: join(folder, 'certificate.pem'),
  key: join(folder, 'certificate.key'),
})

const lookEveryMs = 5000
const refused = 'TLS connections are refused until there is a certificate.'

/** Reloads the certificate when its files change; keeps the old one if the new one is invalid. */
export function keepCertificate(deps: {
  readonly files: CertificateFiles
  readonly log: Log
  readonly clock: Clock
  readonly everyMs?: number
  /** An ACME order is under way, so a missing certificate is no problem yet. */
  readonly isAwaited?: boolean
}) {
  const { files, log, clock } = deps
  let current: Certificate | undefined
  let seen = ''

  function look(): void {
    const fingerprint = fingerprintOf(files)
    if (fingerprint === seen) return
    seen = fingerprint
    if (fingerprint === nothingThere && !current) {
      const ordered = 'It is being ordered by ACME; the authority calls port 80 of this machine for it.'
      const fields = { file: files.cert, explanation: `${refused} ${deps.isAwaited ? ordered : 'Put it there.'}` }
      if (deps.isAwaited) log.info('certificate awaited', fields)
      else log.warn('no certificate yet', fields)
      return
    }
    try {
      take(readFiles(files))
    } catch (error) {
      if (!(error instanceof BadCertificate)) throw error
      const explanation = current
        ? 'The previous certificate stays in use.'
        : `${refused} Replace the file and its key.`
      log.error('certificate not taken', { file: files.cert, reason: error.message, explanation })
    }
  }

  function take(read: Certificate): void {
    if (read.digest === current?.digest && read.key === current.key) return
    const nowMs = clock()
    const isGood = isInForce(read, nowMs)
    if (!isGood && current && isInForce(current, nowMs)) {
      throw new BadCertificate('it has expired or is not valid yet, and the previous one is still valid')
    }
    const fields = { file: files.cert, names: read.names, until: new Date(read.endsAt).toISOString() }
    if (isGood) log.info('certificate taken', fields)
    else log.error('certificate taken', { ...fields, explanation: 'It has expired or is not valid yet. Replace it.' })
    current = read
  }

  look()
  const timer = setInterval(look, deps.everyMs ?? lookEveryMs)
  timer.unref()
  return {
    /** The certificate for new connections. */
    current: (): Certificate | undefined => current,
    look,
    stop: () => clearInterval(timer),
  }
}

export function readFiles(files: CertificateFiles): Certificate {
  const next = nextKeyOf(files)
  if (!existsSync(next)) return readPair(files)
  try {
    return readPair({ ...files, key: next })
  } catch (error) {
    if (!(error instanceof BadCertificate)) throw error
    return readPair(files)
  }
}

/** The key of a certificate that is about to be written. */
const nextKeyOf = ({ key }: CertificateFiles): string => `${key}.next`

/** Replaces certificate and key. After a crash between two steps, `readFiles` finds a matching pair. */
export function writeFiles(files: CertificateFiles, made: Pick<Certificate, 'cert' | 'key'>): void {
  const next = nextKeyOf(files)
  writeOwnFile(next, made.key)
  writeOwnFile(files.cert, made.cert)
  renameSync(next, files.key)
}

function readPair(files: CertificateFiles): Certificate {
  const [cert, key] = [files.cert, files.key].map((path) => {
    try {
      return readFileSync(path, 'utf8')
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
      throw new BadCertificate(`${path} cannot be read (${code})`)
    }
  })
  return readCertificate(cert ?? '', key ?? '')
}

const nothingThere = '- -'

/** Changes whenever a file or the target of a link changes. */
const fingerprintOf = (files: CertificateFiles): string =>
  [files.cert, files.key]
    .map((path) => {
      const found = statSync(path, { throwIfNoEntry: false })
      return found ? `${found.dev}.${found.ino}.${found.mtimeMs}.${found.size}` : '-'
    })
    .join(' ')
