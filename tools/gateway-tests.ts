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

/** Random handshakes and probes: `engines-alike.test.ts` compares both engines by random handshakes in every run. */
const randomOnes = new Bun.Glob('test/attack/gateway-{fuzz,fuzz-process,prober}.test.ts')

/** Protocol and attack files: the portable engine runs only these in `npm test`, and all of them in test:long. */
export const isQuickOnPortable = (test: string): boolean =>
  isOfGateways(test) &&
  !randomOnes.match(test) &&
  /^test\/(?:attack\/|journeys\/gateway(?:-bytes|-hop|-speed)?\.test\.ts$)/.test(test)
