import { readFileSync, statSync } from 'node:fs'
import type { Log } from '../../core/log.ts'
import type { Clock } from '../../core/time.ts'
import { BadCertificate, type Certificate, isInForce, readCertificate } from './certificate.ts'
import type { CertificateFiles } from './files.ts'

export type Keeper = {
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
