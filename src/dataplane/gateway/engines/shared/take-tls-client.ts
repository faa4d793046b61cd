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
  client.owner = {
    onSocketData: (bytes) => side.onSocketData(bytes),
    onSocketDrain: () => side.onSocketDrain(),
    onSocketEnd: () => side.onSocketEnd(),
    onSocketClose: () => {
      core.departed()
      side.onSocketClose()
    },
  }
  side.attach(toSideSocket(client, core.mainPort))
  core.accepted(side, client.source, client.parser)
  // A request that has come already resumes its stream itself.
  if (!client.parser || client.isUnread) client.resume()
}
