export type { AnswerFacts, CallOptions, ClientOptions, KeyedCallOptions, Warning } from './call.ts'
export { type Client, createClient } from './client.ts'
export { type CallFacts, NoAnswerError, type Refusal, RefusalError, TurnpikeError } from './errors.ts'
export { type FollowOptions, follow, type ListenOptions, listen } from './follow.ts'
export type * from './operations.ts'
export { bunProxy, type ProxyProtocol, playwrightProxy, proxyUrl, undiciProxy } from './proxies.ts'
export type { RetryLimits } from './retry.ts'
export {
  verifyWebhook,
  WebhookError,
  type WebhookEvent,
  type WebhookHeaders,
  type WebhookOptions,
  type WebhookProblem,
} from './webhooks.ts'
