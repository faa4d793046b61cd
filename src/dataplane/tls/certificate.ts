import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'

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
export const isInForce = ({ beginsAt, endsAt }: Certificate, nowMs: number): boolean =>
  beginsAt <= nowMs && nowMs < endsAt
