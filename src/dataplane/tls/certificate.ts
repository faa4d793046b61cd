import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../../core/log.ts'
import type { Clock } from '../../core/time.ts'

/** A certificate that can be served: its chain and key as PEM, and what is known of it. */
export type Certificate = {
  readonly cert: string
  readonly key: string
  /** Names and addresses that it is for, in small letters. */
  readonly names: readonly string[]
  readonly beginsAt: number
  readonly endsAt: number
  /** Of the certificate itself, to tell two apart. */
  readonly digest: string
}

/** What cannot be served; the text says why, and holds no part of a key. */
export class BadCertificate extends Error {
  override readonly name = 'BadCertificate'
}

/** Reads a chain and its key, and refuses what no client could be served with. One that has ended is still read. */
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

/** The first one is the server's own; those behind it are its issuers. */
function readOwn(cert: string): X509Certificate {
  const blocks = cert.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? []
  if (blocks.length === 0) throw new BadCertificate('there is no certificate in PEM form')
  try {
    const [own] = blocks.map((block) => new X509Certificate(block))
    if (own) return own
  } catch {
    // Said below.
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

/** `DNS:a.example, IP Address:192.0.2.1` as it is written by the library. */
const namesIn = (text: string): string[] =>
  text.split(', ').flatMap((part) => /^(?:DNS|IP Address):(.+)$/.exec(part)?.[1]?.toLowerCase() ?? [])

/** A certificate that is not good now, whatever the clock of a client says. */
const isInForce = ({ beginsAt, endsAt }: Certificate, nowMs: number): boolean => beginsAt <= nowMs && nowMs < endsAt

/** Where a certificate and its key are. */
export type CertificateFiles = { readonly cert: string; readonly key: string }

/** Where a folder has the certificate that an authority gave. */
export const acmeFiles = (folder: string): CertificateFiles => ({
  cert: join(folder, 'certificate.pem'),
  key: join(folder, 'certificate.key'),
})

type Keeper = {
  /** What newcomers are served with; undefined while there is none. */
  readonly current: () => Certificate | undefined
  /** Looks at the files now. */
  readonly look: () => void
  stop(): void
}

/** How soon a file that was replaced is noticed. */
const lookEveryMs = 5000

/**
 * Keeps the certificate that is in its files. What was replaced is taken without a restart; what cannot be served
 * leaves the one before in force, and a line in the log.
 */
export function keepCertificate(deps: {
  readonly files: CertificateFiles
  readonly log: Log
  readonly clock: Clock
  readonly everyMs?: number
  /** Whether an authority is being asked for one: then there is none at first, and nothing for the operator to do. */
  readonly isAwaited?: boolean
}): Keeper {
  const { files, log, clock } = deps
  let current: Certificate | undefined
  let seen = ''

  function look(): void {
    const standing = standingOf(files)
    if (standing === seen) return
    seen = standing
    if (standing === nothingThere && !current) {
      const fields = { file: files.cert, explanation: 'nobody can be served until there is one' }
      if (deps.isAwaited) log.info('certificate awaited', fields)
      else log.warn('no certificate yet', fields)
      return
    }
    try {
      take(readFiles(files))
    } catch (error) {
      if (!(error instanceof BadCertificate)) throw error
      const explanation = current ? 'the one before stays in force' : 'nobody can be served until there is one'
      log.error('certificate not taken', { file: files.cert, reason: error.message, explanation })
    }
  }

  function take(read: Certificate): void {
    if (read.digest === current?.digest && read.key === current.key) return
    const nowMs = clock()
    const isGood = isInForce(read, nowMs)
    if (!isGood && current && isInForce(current, nowMs)) {
      throw new BadCertificate('it has ended or has not begun, and the one before is still good')
    }
    const fields = { file: files.cert, names: read.names, until: new Date(read.endsAt).toISOString() }
    if (isGood) log.info('certificate taken', fields)
    else log.error('certificate taken', { ...fields, explanation: 'it has ended or has not begun: replace it' })
    current = read
  }

  look()
  const timer = setInterval(look, deps.everyMs ?? lookEveryMs)
  timer.unref()
  return { current: () => current, look, stop: () => clearInterval(timer) }
}

/** Reads both, or says which cannot be read. */
export function readFiles(files: CertificateFiles): Certificate {
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

/** The standing of two files that are not there. */
const nothingThere = '- -'

/** Changes whenever either file does, also when it is a link that leads elsewhere now. */
const standingOf = (files: CertificateFiles): string =>
  [files.cert, files.key]
    .map((path) => {
      const found = statSync(path, { throwIfNoEntry: false })
      return found ? `${found.dev}.${found.ino}.${found.mtimeMs}.${found.size}` : '-'
    })
    .join(' ')
