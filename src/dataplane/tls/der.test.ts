import { expect, test } from 'bun:test'
import { X509Certificate } from 'node:crypto'
import { readCertificate } from './certificate.ts'
import { makeSelfSigned } from './der.ts'

test('makeSelfSigned makes a certificate for one host that its own key has signed and that lasts 2 days', () => {
  const beginsAt = Date.UTC(2026, 10, 19)
  const { cert, key } = makeSelfSigned('localhost', beginsAt, beginsAt + 2 * 86_400_000)
  const own = new X509Certificate(cert)
  expect([own.subject, own.issuer, own.verify(own.publicKey)]).toEqual(['CN=localhost', 'CN=localhost', true])
  expect(readCertificate(cert, key)).toMatchObject({
    names: ['localhost'],
    beginsAt,
    endsAt: beginsAt + 2 * 86_400_000,
  })
  expect(new X509Certificate(makeSelfSigned('localhost', beginsAt, beginsAt + 1000).cert).serialNumber).not.toBe(
    own.serialNumber,
  )
})
