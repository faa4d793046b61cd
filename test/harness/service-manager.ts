import { dlopen, ptr } from 'bun:ffi'

const dontWait = 0x40

/** The socket of a service manager such as systemd: a datagram socket with this path or abstract name. */
export function openServiceManager(name: string) {
  const { symbols: libc } = dlopen('libc.so.6', {
    socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
    bind: { args: ['i32', 'ptr', 'u32'], returns: 'i32' },
    recv: { args: ['i32', 'ptr', 'u64', 'i32'], returns: 'i64' },
    close: { args: ['i32'], returns: 'i32' },
  })
  const path = new TextEncoder().encode(name.startsWith('@') ? `\0${name.slice(1)}` : `${name}\0`)
  const address = Uint8Array.of(1, 0, ...path)
  const fd = libc.socket(1, 2, 0)
  if (libc.bind(fd, ptr(address), address.length) !== 0) throw new Error(`${name} cannot be listened at`)
  /** The next message, or an empty string. */
  function receive(): string {
    const buffer = new Uint8Array(2000)
    const length = Number(libc.recv(fd, ptr(buffer), buffer.length, dontWait))
    return new TextDecoder().decode(buffer.subarray(0, Math.max(0, length)))
  }
  return {
    receive,
    /** All messages since the last call. */
    receiveAll(): string[] {
      const messages: string[] = []
      for (let message = receive(); message !== ''; message = receive()) messages.push(message)
      return messages
    },
    close: () => libc.close(fd),
  }
}
