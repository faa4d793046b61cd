import { X509Certificate } from 'node:crypto'
import type { After } from '../../src/core/time.ts'
import { makeHopKey } from '../../src/dataplane/agent/hop-key.ts'
import { after as afterReal } from '../../src/dataplane/gateway/engines/portable/dialler.ts'
import { HopConnections, pinOf } from '../../src/dataplane/gateway/engines/shared/hop-client.ts'
import { readCertificate } from '../../src/dataplane/tls/certificate.ts'
import type { Front } from '../../src/dataplane/tls/front.ts'
import type { NodeGateway } from '../../src/node-protocol/state.ts'
import type { Made } from './certificates.ts'
import { openEngine, type TestGateway, type TestGatewayOptions } from './engine.ts'
import { freePort } from './gateway.ts'
import { openTlsFront } from './tls-front.ts'

/** A gateway's id, key and ports, as the shop tells them to other gateways. */
export function nameGateway(name: string, certificate: Made | undefined) {
  const key = makeHopKey()
  const tlsPort = freePort()
  const gateway: NodeGateway = {
    id: `nod_${name}`,
    name,
    host: '127.0.0.1',
    port: freePort(),
    key: key.publicKey,
    tls: certificate && { port: tlsPort, name: null, key: pinOf(new X509Certificate(certificate.cert)) },
    state: 'open',
  }
  return { gateway, key, certificate, tlsPort }
}

export type HopGatewayNames = ReturnType<typeof nameGateway>

/** A gateway with a TLS port, if it has a certificate, whose hops go over the TLS ports of others. */
export type TestHopGateway = TestGateway & {
  readonly hops: HopConnections
  readonly http2: { readonly open: number } | undefined
  readonly front: Front | undefined
  /** Drains HTTP/2 connections as a gateway does that another process has taken over. */
  drain(): void
}

/** Gateways whose customers enter at this one. */
const exitsOf = (gateways: readonly NodeGateway[], self: string): string[] =>
  gateways.filter(({ entry }) => entry === self).map(({ id }) => id)

type HopOptions = {
  /** Trusted instead of the public authorities, PEM. */
  readonly ca?: string
  /** The timers of the connections to other gateways. */
  readonly after?: After
}

export function openHopGateway(
  names: HopGatewayNames,
  options: TestGatewayOptions = {},
  { ca, after = afterReal }: HopOptions = {},
): TestHopGateway {
  const { gateway, key, certificate, tlsPort } = names
  const clock = () => performance.now()
  const onFault = (fault: unknown): void => {
    throw fault
  }
  const hops = new HopConnections({
    clock,
    wallClock: Date.now,
    after,
    random: Math.random,
    onFault,
    ...(ca !== undefined && { ca }),
  })
  const test = openEngine({
    port: gateway.port,
    hop: { node: gateway.id, privateKey: key.privateKey },
    openHop: (to) => hops.open(to),
    ...options,
  })
  const gateways = options.gateways ?? []
  hops.keep(new Map(gateways.map((each) => [each.id, each])), exitsOf(gateways, gateway.id))
  const served = certificate && readCertificate(certificate.cert, certificate.key)
  const opened = served && openTlsFront(test.engine, { certificate: () => served, port: tlsPort })
  const front = opened?.front
  return {
    ...test,
    hops,
    http2: opened?.http2,
    front,
    drain: () => opened?.http2.drain(),
    async stop() {
      front?.close()
      hops.close()
      const status = await test.stop()
      front?.end()
      return status
    },
  }
}
