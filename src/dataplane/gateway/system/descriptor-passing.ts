import { ptr } from 'bun:ffi'
import { openLibc } from './libc.ts'
import * as n from './numbers.ts'

const SCM_RIGHTS = 1
/** The kernel allows 253. */
export const maxAtOnce = 200
const maxBytes = 64 * 1024
/** `struct msghdr` and `struct cmsghdr`, 64-bit little-endian; musl differs in padding only. */
const messageBytes = 56
const headBytes = 16
const maxPathBytes = 107

export type Received = { readonly bytes: Uint8Array; readonly descriptors: readonly number[] }

/** Passes descriptors between processes (unix(7), SCM_RIGHTS). */
export class DescriptorPassing {
  private readonly libc = openLibc()

  /** Returns the descriptor or a negative errno. */
  connect(path: string): number {
    const bytes = new TextEncoder().encode(path)
    if (bytes.length > maxPathBytes) throw new Error(`the path of a socket has at most ${maxPathBytes} bytes: ${path}`)
    const address = new Uint8Array(3 + bytes.length)
    address[0] = n.AF_UNIX
    address.set(bytes, 2)
    const descriptor = this.orError(this.libc.socket(n.AF_UNIX, n.SOCK_STREAM | n.CLOEXEC, 0))
    if (descriptor < 0) return descriptor
    const failed = this.orError(this.libc.connect(descriptor, Number(ptr(address)), address.length))
    if (failed < 0) this.libc.close(descriptor)
    return failed < 0 ? failed : descriptor
  }

  /** Returns whether everything was sent. */
  send(over: number, bytes: Uint8Array, descriptors: readonly number[] = []): boolean {
    if (descriptors.length > maxAtOnce) throw new Error('too many descriptors for one message')
    const dataBytes = descriptors.length * 4
    const control = new Uint8Array(dataBytes === 0 ? 0 : headBytes + Math.ceil(dataBytes / 8) * 8)
    if (dataBytes > 0) {
      const head = new DataView(control.buffer)
      head.setBigUint64(0, BigInt(headBytes + dataBytes), true)
      head.setInt32(8, n.SOL_SOCKET, true)
      head.setInt32(12, SCM_RIGHTS, true)
      for (const [index, each] of descriptors.entries()) head.setInt32(headBytes + index * 4, each, true)
    }
    const { message, held } = this.describe(bytes, control)
    const sent = this.libc.sendmsg(over, Number(ptr(message)), n.MSG_DONTWAIT | n.MSG_NOSIGNAL)
    return sent === held.payload.length
  }

  /** Undefined if nothing has arrived; empty bytes at the end of the stream. */
  receive(over: number): Received | undefined {
    const { message, held } = this.describe(new Uint8Array(maxBytes), new Uint8Array(headBytes + maxAtOnce * 4))
    const got = this.orError(this.libc.recvmsg(over, Number(ptr(message)), n.MSG_DONTWAIT | n.MSG_CMSG_CLOEXEC))
    if (got === -n.EAGAIN) return undefined
    // The peer closed with unread data.
    if (got === -n.ECONNRESET) return { bytes: new Uint8Array(), descriptors: [] }
    if (got < 0) throw new Error(`recvmsg failed with ${-got}`)
    return {
      bytes: held.payload.slice(0, got),
      descriptors: readRights(held.control, Number(message.getBigUint64(40, true))),
    }
  }

  close(descriptor: number): void {
    this.libc.close(descriptor)
  }

  private orError(result: number): number {
    return result < 0 ? -(this.libc.errno[0] ?? 0) : result
  }

  /** The result keeps the memory alive that the kernel is pointed to. */
  private describe(payload: Uint8Array, control: Uint8Array) {
    const vector = BigUint64Array.of(BigInt(ptr(payload)), BigInt(payload.length))
    const message = new DataView(new ArrayBuffer(messageBytes))
    message.setBigUint64(16, BigInt(ptr(vector)), true)
    message.setBigUint64(24, 1n, true)
    if (control.length > 0) {
      message.setBigUint64(32, BigInt(ptr(control)), true)
      message.setBigUint64(40, BigInt(control.length), true)
    }
    return { message, held: { payload, control, vector } }
  }
}

function readRights(control: Uint8Array, length: number): number[] {
  if (length < headBytes) return []
  const head = new DataView(control.buffer)
  if (head.getInt32(8, true) !== n.SOL_SOCKET || head.getInt32(12, true) !== SCM_RIGHTS) return []
  const count = (Number(head.getBigUint64(0, true)) - headBytes) / 4
  return Array.from({ length: count }, (_, index) => head.getInt32(headBytes + index * 4, true))
}
