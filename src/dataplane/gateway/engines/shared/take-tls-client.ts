import type { TlsOwner } from '../../../tls/tls-socket.ts'
import { ignoringOwner, Side, type SideAround } from '../../sides/side.ts'
import { type TlsClient, toSideSocket } from '../../sides/tls-client.ts'
import type { GatewayCore } from './core.ts'

/** Gives a client behind TLS to the engine: it counts as connected to the main port. */
export function takeTlsClient(
  client: TlsClient,
  core: Pick<GatewayCore, 'mainPort' | 'accepted' | 'departed'>,
  around: SideAround,
): void {
  const side = new Side(ignoringOwner, around)
  client.owner = new TlsClientOwner(side, core)
  side.attach(toSideSocket(client, core.mainPort))
  core.accepted(side, client.source, client.parser)
  // A request that has come already resumes its stream itself.
  if (!client.parser || client.isUnread) client.resume()
}

/** Passes the events of a client behind TLS to its side. A class without closures, to keep idle tunnels small. */
class TlsClientOwner implements TlsOwner {
  constructor(
    private readonly side: Side,
    private readonly core: Pick<GatewayCore, 'departed'>,
  ) {}

  get borrows(): boolean {
    return this.side.borrows
  }

  onSocketData(bytes: Uint8Array): void {
    this.side.onSocketData(bytes)
  }

  onSocketDrain(): void {
    this.side.onSocketDrain()
  }

  onSocketEnd(): void {
    this.side.onSocketEnd()
  }

  onSocketClose(): void {
    this.core.departed()
    this.side.onSocketClose()
  }
}
