import { type Address, readAddress } from '../../../../core/address.ts'
import type { NodeExit } from '../../../../node-protocol/state.ts'
import type { Upstreams } from '../../dial/upstream.ts'
import type { DatagramReceipt } from '../../metering/datagram-meter.ts'
import type { Side, SideOwner } from '../../sides/side.ts'
import { datagramsTarget, HopDatagrams } from '../../ways-in/hop-datagrams.ts'
import type { RefusalCode } from '../../ways-in/refusals.ts'
import type { DatagramOwner, DatagramSocket } from './datagram-socket.ts'

/** Bytes of datagrams that wait for a slow hop; further ones are dropped. */
const maxHeldBytes = 128 * 1024

/** The UDP socket of an association at another gateway: datagrams travel in the bytes of a hop. */
class HopSocket implements DatagramSocket, SideOwner {
  readonly port = 0
  private readonly codec = new HopDatagrams()
  private owner: DatagramOwner | undefined
  private isClosed = false

  constructor(
    private readonly side: Side,
    private early: Uint8Array | undefined,
  ) {}

  own(owner: DatagramOwner): void {
    this.owner = owner
    this.side.own(this)
    const { early } = this
    this.early = undefined
    // The owner's constructor has not returned yet.
    queueMicrotask(() => {
      if (this.isClosed) return
      if (this.side.isClosed) return owner.onFault()
      if (early) this.onData(early)
      this.side.resume()
    })
  }

  /** The hop has taken it; what the other gateway does with it is as unknown as in a network. */
  send(_header: Uint8Array, payload: Uint8Array, to: Address, port: number, receipt: DatagramReceipt): void {
    const isTaken = !this.isClosed && !this.side.isClosed && this.side.heldBytes + payload.length <= maxHeldBytes
    if (isTaken) this.side.write(this.codec.toCapsule(payload, to, port))
    receipt.settle(payload.length, isTaken)
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.side.abort()
  }

  onData(bytes: Uint8Array): void {
    const isValid = this.codec.feed(bytes, (payload, source) => {
      const from = source && readAddress(source.host)
      if (source && from && !this.isClosed) this.owner?.onDatagram(payload, from, source.port)
    })
    if (!isValid) this.owner?.onFault()
  }

  onEnd(): void {
    this.owner?.onFault()
  }

  onDrain(): void {}

  onClose(): void {
    if (!this.isClosed) this.owner?.onFault()
  }
}

/** Opens a socket at the gateway of an exit. */
export const createOpenHopSocket =
  (upstreams: Pick<Upstreams<Side>, 'goVia'>, maxMs: number) =>
  async (exit: NodeExit): Promise<DatagramSocket | { readonly refusal: RefusalCode }> => {
    const outcome = await upstreams.goVia(exit, datagramsTarget, maxMs)
    return 'refusal' in outcome ? { refusal: outcome.refusal } : new HopSocket(outcome.origin, outcome.early)
  }
