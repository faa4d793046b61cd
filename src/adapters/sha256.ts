export const sha256 = (text: string): Uint8Array => Bun.SHA256.hash(text) as Uint8Array
