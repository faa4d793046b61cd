import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'

/** Tags of DER that a request is made of (X.690, 8). */
const tag = {
  whole: 0x02,
  bits: 0x03,
  octets: 0x04,
  oid: 0x06,
  sequence: 0x30,
  set: 0x31,
  attributes: 0xa0,
  name: 0x82,
}

function der(kind: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Uint8Array.from([kind, ...size]), content])
}

const oid = (...bytes: readonly number[]): Uint8Array => der(tag.oid, Uint8Array.from(bytes))
/** 1.2.840.113549.1.9.14, a request for extensions. */
const extensionRequest = oid(0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x0e)
/** 2.5.29.17, subjectAltName. */
const subjectAltName = oid(0x55, 0x1d, 0x11)
/** 1.2.840.10045.4.3.2, ecdsa-with-SHA256. */
const ecdsaWithSha256 = oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02)

/** A new key on P-256, as PEM. */
export function makeKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' })
}

/** Asks for a certificate for these names (PKCS #10, RFC 2986); the subject is empty, as names are what counts. */
export function makeRequest(names: readonly string[], keyPem: string): Uint8Array {
  const publicKey = createPublicKey(keyPem).export({ type: 'spki', format: 'der' })
  const all = der(tag.sequence, ...names.map((name) => der(tag.name, Buffer.from(name, 'ascii'))))
  const extensions = der(tag.sequence, der(tag.sequence, subjectAltName, der(tag.octets, all)))
  const attributes = der(tag.attributes, der(tag.sequence, extensionRequest, der(tag.set, extensions)))
  const about = der(tag.sequence, der(tag.whole, Uint8Array.of(0)), der(tag.sequence), publicKey, attributes)
  const signature = sign('sha256', about, createPrivateKey(keyPem))
  return der(tag.sequence, about, der(tag.sequence, ecdsaWithSha256), der(tag.bits, Uint8Array.of(0), signature))
}
