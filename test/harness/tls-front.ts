import { Snapshot } from '../../src/dataplane/agent/snapshot.ts'
import { after } from '../../src/dataplane/gateway/engines/portable/dialler.ts'
import type { Engine } from '../../src/dataplane/gateway/engines/shared/engine.ts'
import { Http2Clients } from '../../src/dataplane/gateway/engines/shared/http2-clients.ts'
import { type TlsClient, toTlsClient } from '../../src/dataplane/gateway/sides/tls-client.ts'
import { openSite, type SiteTerms } from '../../src/dataplane/gateway/site/server.ts'
import { createSockets } from '../../src/dataplane/gateway/system/sockets.ts'
import type { Certificate } from '../../src/dataplane/tls/certificate.ts'
import { Front } from '../../src/dataplane/tls/front.ts'
import { makeTicketKey, type TicketKey } from '../../src/dataplane/tls/openssl/ticket-keys.ts'

type TlsFrontOptions = {
  readonly certificate: () => Certificate | undefined
  readonly max?: number
  readonly port?: number
  readonly now?: () => number
  readonly site?: SiteTerms | undefined
  readonly ticketKeys?: readonly TicketKey[]
  readonly snapshot?: Snapshot
}

/** A TLS port of an engine: in its reactor, or on this thread where the engine does no TLS. */
export function openTlsFront(engine: Engine, options: TlsFrontOptions) {
  const { certificate, max = 1000, port = 0, now, site } = options
  const onFault = (fault: unknown): void => {
    throw fault
  }
  const hostname = '127.0.0.1'
  const ticketKeys = options.ticketKeys ?? [makeTicketKey()]
  const dispatcher = engine.openTls?.({ site, ticketKeys })
  const sockets = createSockets(process.platform)
  const take = (client: TlsClient): void => engine.takeTls?.(client)
  const own = new Http2Clients({ sockets, take, after, clock: () => performance.now() })
  const shown =
    site && !dispatcher
      ? openSite(site, { take, snapshot: options.snapshot ?? new Snapshot(), sockets, after, onFault }).site
      : undefined
  const front = new Front({
    hostname,
    port,
    certificate,
    max,
    ...(now && { now }),
    offersHttp2: true,
    makeRoom: () => dispatcher?.makeRoom() ?? (shown?.makeRoom() || own.makeRoom()),
    threads: dispatcher,
    onTls(tls) {
      if (tls.protocol === 'h2') own.take(tls, shown)
      else if (shown) shown.take(tls)
      else take(toTlsClient(tls, sockets))
    },
    onFault,
    adopt:
      dispatcher &&
      ((onAccepted, onBegun) => dispatcher.listen({ hostname, port, inherited: undefined }, onAccepted, onBegun)),
  })
  return { front, dispatcher, http2: dispatcher ?? own, site: shown }
}
