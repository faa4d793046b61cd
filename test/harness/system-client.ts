import { ptr } from 'bun:ffi'
import { readAddress } from '../../src/core/address.ts'
import { Kernel } from '../../src/dataplane/gateway/system/kernel.ts'
import { openLibc } from '../../src/dataplane/gateway/system/libc.ts'
import { EAGAIN } from '../../src/dataplane/gateway/system/numbers.ts'
import type { Processor } from '../../src/dataplane/gateway/system/structures.ts'
import { until, waitLimitMs } from './until.ts'

const loopback = readAddress('127.0.0.1')
const ENOTCONN = 107
const MSG_OOB = 1

/** A client on system calls, which show whether a connection was closed in order or reset; Bun's sockets do not. */
export class SystemClient {
  private static readonly libc = openLibc()
  private static readonly kernel = new Kernel(SystemClient.libc, process.arch as Processor)
  received = Buffer.alloc(0)
  /** How the peer ended the connection, if it did. */
  end: 'ended' | 'reset' | undefined

  private constructor(private readonly descriptor: number) {}

  static async open(port: number): Promise<SystemClient> {
    const descriptor = loopback ? SystemClient.kernel.connect(loopback, port, undefined, false) : -1
    if (descriptor < 0) throw new Error(`the system refused to connect: ${-descriptor}`)
    const client = new SystemClient(descriptor)
    await client.send(new Uint8Array(0))
    return client
  }

  /** Resolves when the kernel has accepted all bytes, or the connection is gone. */
  async send(bytes: Uint8Array): Promise<void> {
    let rest = bytes
    await until(() => {
      const gone = SystemClient.kernel.send(this.descriptor, rest)
      if (gone < 0) return gone !== -EAGAIN && gone !== -ENOTCONN
      rest = rest.subarray(gone)
      return rest.length === 0
    }, waitLimitMs)
    await new Promise((resolve) => setImmediate(resolve))
  }

  /** Sends bytes of which the last is urgent (MSG_OOB): a receiver reads up to it, and no further in one call. */
  sendUrgent(bytes: Uint8Array): void {
    const gone = SystemClient.libc.send(this.descriptor, Number(ptr(bytes)), bytes.length, MSG_OOB)
    if (gone !== bytes.length) throw new Error('the system did not take urgent data')
  }

  finish(): void {
    SystemClient.kernel.shutdownWrite(this.descriptor)
  }

  /** Reads until enough has arrived, or the peer has closed. */
  async readUntil(isEnough: () => boolean): Promise<void> {
    await until(() => {
      while (!isEnough() && this.end === undefined) if (!this.readOnce()) return false
      return true
    }, waitLimitMs)
  }

  /** False if there is nothing to read for now. */
  private readOnce(): boolean {
    const got = SystemClient.kernel.receive(this.descriptor, 65_536)
    if (got === -EAGAIN) return false
    if (got > 0) this.received = Buffer.concat([this.received, SystemClient.kernel.received.subarray(0, got)])
    else this.end = got === 0 ? 'ended' : 'reset'
    return true
  }

  reset(): void {
    SystemClient.kernel.resetOnClose(this.descriptor)
    SystemClient.kernel.close(this.descriptor)
  }
}
