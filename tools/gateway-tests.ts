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

/** On the portable engine in a long run alone: what is killed, exchanged or browsed with asks little of an engine. */
export const isOfLongRuns = (test: string): boolean => /^test\/(durability|browser)\//.test(test)
