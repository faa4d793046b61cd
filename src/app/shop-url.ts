import { refuseHere } from '../core/refusal.ts'

/** The origin of a shop's address. A token goes only over TLS, or to this machine. */
export function readShopOrigin(text: string, name: string): string {
  const url = URL.parse(text)
  const isLoopback = url !== null && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback)) return url.origin
  throw refuseHere(`${name} is a URL that begins with https://; a token is not sent in the clear.`, 'usage')
}
