import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type { Certificate } from './certificate.ts'

/** DER tags (X.690, 8). */
export const tag = {
  whole: 0x02,
  bits: 0x03,
  octets: 0x04,
  oid: 0x06,
  text: 0x0c,
  time: 0x18,
  sequence: 0x30,
  set: 0x31,
  attributes: 0xa0,
  extensions: 0xa3,
  name: 0x82,
}

export function der(kind: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Uint8Array.from([kind, ...size]), content])
}

export const oid = (...bytes: readonly number[]): Uint8Array => der(tag.oid, Uint8Array.from(bytes))
/** 2.5.29.17, subjectAltName. */
const subjectAltName = oid(0x55, 0x1d, 0x11)
/** 2.5.4.3, commonName. */
const commonName = oid(0x55, 0x04, 0x03)
/** 1.2.840.10045.4.3.2, ecdsa-with-SHA256. */
const ecdsaWithSha256 = oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02)
const algorithm = der(tag.sequence, ecdsaWithSha256)

/** A private key on P-256, as PEM. */
export function makeKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' })
}

/** The list of extensions with these DNS names only. */
export function toNamesExtension(names: readonly string[]): Uint8Array {
  const all = der(tag.sequence, ...names.map((name) => der(tag.name, Buffer.from(name, 'ascii'))))
  return der(tag.sequence, der(tag.sequence, subjectAltName, der(tag.octets, all)))
}

/** Adds algorithm and signature: the form of a certificate and of a request for one. */
export const toSigned = (about: Uint8Array, keyPem: string): Uint8Array =>
  der(tag.sequence, about, algorithm, der(tag.bits, Uint8Array.of(0), sign('sha256', about, createPrivateKey(keyPem))))

/** GeneralizedTime (RFC 5280, 4.1.2.5.2). */
const toTime = (at: number): Uint8Array =>
  der(tag.time, Buffer.from(`${new Date(at).toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`))

/** A certificate of its own key for a host name (RFC 5280). Clients must know it, or its digest. */
export function makeSelfSigned(name: string, beginsAt: number, endsAt: number): Pick<Certificate, 'cert' | 'key'> {
  const key = makeKey()
  const serial = randomBytes(16)
  // Positive, without a leading zero.
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40
  const part = der(tag.sequence, commonName, der(tag.text, Buffer.from(name)))
  const subject = der(tag.sequence, der(tag.set, part))
  const about = der(
    tag.sequence,
    der(tag.attributes, der(tag.whole, Uint8Array.of(2))),
    der(tag.whole, serial),
    algorithm,
    subject,
    der(tag.sequence, toTime(beginsAt), toTime(endsAt)),
    subject,
    createPublicKey(key).export({ type: 'spki', format: 'der' }),
    der(tag.extensions, toNamesExtension([name])),
  )
  const text = Buffer.from(toSigned(about, key))
    .toString('base64')
    .replace(/.{64}(?=.)/g, '$&\n')
  return { cert: `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`, key }
}
