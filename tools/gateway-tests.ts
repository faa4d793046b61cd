/**
 * Tests of what a gateway does, whatever moves its bytes. They run on the engine that ships, with all others, and once
 * more on the portable one.
 */
const ofGateways = [
  'attack/gateway-*',
  'journeys/gateway*',
  'journeys/dedicated-check',
  'durability/gateway-*',
  'browser/gateway',
].map((pattern) => new Bun.Glob(`test/${pattern}.test.ts`))
/** About one engine alone. */
const ofOneEngine = 'test/attack/gateway-reactor.test.ts'

/** Whether a test runs on both engines. */
export const isOfGateways = (test: string): boolean =>
  test !== ofOneEngine && ofGateways.some((pattern) => pattern.match(test))

/** Stories of what a shop and its gateways agree on, whatever moves the bytes. */
const ofAgreements = ['gateway-exits', 'gateway-lifetime', 'gateway-partition', 'gateway-premium', 'gateway-revoked']
  .concat('gateway-two-nodes', 'dedicated-check')
  .map((name) => `test/journeys/${name}.test.ts`)

/** On the portable engine in a long run alone: those, and what is killed, exchanged or browsed with. */
export const isOfLongRuns = (test: string): boolean =>
  ofAgreements.includes(test) || /^test\/(durability|browser)\//.test(test)
