/** Parameters of all TLS servers here, whichever library does TLS. */

/** Forward secrecy and AES-GCM only. With Bun's TLS, delivery tracking relies on their equal overhead per record. */
export const ciphers = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
].join(':')

/** TLS 1.2. */
export const minVersion = 0x0303

/** Names with their length in front (RFC 7301, 3.1), the preferred first. */
export const withHttp2 = Buffer.from('\x02h2\x08http/1.1', 'latin1')
export const onlyHttp1 = Buffer.from('\x08http/1.1', 'latin1')
