/** Tests of what a gateway does on either relay engine: they run on the Linux engine, and again on the portable one. */
const ofGateways = [
  'attack/gateway-*',
  'attack/tls-crowd',
  'journeys/gateway*',
  'journeys/dedicated-check',
  'journeys/fleet-hop',
  'durability/gateway-*',
  'browser/gateway*',
].map((pattern) => new Bun.Glob(`test/${pattern}.test.ts`))
const linuxOnly = ['test/attack/gateway-reactor.test.ts', 'test/attack/gateway-reactors.test.ts']

/** Whether a test runs on both engines. */
export const isOfGateways = (test: string): boolean =>
  !linuxOnly.includes(test) && ofGateways.some((pattern) => pattern.match(test))

const onPortable = new Bun.Glob(
  'test/{attack/gateway-{acknowledgements,differential,framing,http2,late-answer,names,origins,socks,targets,users},' +
    'journeys/gateway,journeys/gateway-bytes,journeys/gateway-hop}.test.ts',
)

/**
 * Requests, refusals and billing byte by byte, and `engines-alike.test.ts`, which compares both engines: the portable
 * engine runs only these in `npm test`, and all gateway tests in test:long.
 */
export const isQuickOnPortable = (test: string): boolean => isOfGateways(test) && onPortable.match(test)
