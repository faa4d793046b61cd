import { passwordOf } from './engine.ts'
import { RawClient } from './raw-client.ts'

const counted = (text: string): string => `${String.fromCharCode(text.length)}${text}`

/** RFC 1929: a name and a password. */
export const socksLogin = (username: string, password: string = passwordOf(username)): string =>
  `\x01${counted(username)}${counted(password)}`

/** RFC 1928, 4: a request for a name or an address written as a name. */
export const socksRequest = (host: string, port: number): string =>
  `\x05\x01\0\x03${counted(host)}${String.fromCharCode(port >> 8, port & 255)}`

/** A connection that has passed the SOCKS5 login. */
export async function greet(
  gateway: number,
  username: string,
  password?: string,
  hostname?: string,
): Promise<RawClient> {
  const client = await RawClient.open(gateway, undefined, hostname)
  client.send('\x05\x01\x02')
  await client.readUntil((text) => text.length >= 2)
  client.send(socksLogin(username, password))
  await client.readUntil((text) => text.length >= 4)
  return client
}

/** Requests a destination, and returns the reply code of RFC 1928. */
export async function socksTo(gateway: number, username: string, host: string, port: number) {
  const client = await greet(gateway, username)
  client.send(socksRequest(host, port))
  await client.readUntil((text) => text.length >= 14)
  return { client, code: client.bytes[5] ?? -1 }
}
