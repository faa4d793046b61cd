/** 128 bits of a digest, as hex digits. */
const characters = 32

/**
 * The path of a VPN device's requests on the TLS port of gateways. Only those who know the UUID know it: `digest` is
 * the UUID's SHA-256 in hex digits. The path opens nothing without the UUID.
 */
export const pathOfDevice = (digest: string): string => `/${digest.slice(0, characters)}`
