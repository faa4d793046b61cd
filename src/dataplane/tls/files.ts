import { join } from 'node:path'

/** Where a certificate and its key are. */
export type CertificateFiles = { readonly cert: string; readonly key: string }

/** Where a folder has the certificate that an authority gave. */
export const acmeFiles = (folder: string): CertificateFiles => ({
  cert: join(folder, 'certificate.pem'),
  key: join(folder, 'certificate.key'),
})
