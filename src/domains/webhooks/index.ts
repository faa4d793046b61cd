import { bind } from '../../core/bind.ts'
import { claim, deliver, forget, owners } from './deliver.ts'
import type { WebhookDeps } from './deps.ts'
import { add, deliveries, list, prepare, redeliver, remove, rotate, sendTest, update } from './manage.ts'

export { verifierOf as createWebhooksVerifier } from './audit.ts'
export type { WebhookLease } from './deliver.ts'
export type { SecretWebhook } from './manage.ts'

export type Webhooks = ReturnType<typeof createWebhooks>

export function createWebhooks(given: Omit<WebhookDeps, 'pace'> & Partial<Pick<WebhookDeps, 'pace'>>) {
  const deps: WebhookDeps = { pace: async () => {}, ...given }
  return {
    ...bind(deps, { add, list, prepare, update, remove, rotate, sendTest, redeliver, deliveries }),
    ...bind(deps, { claim, deliver, forget, owners }),
  }
}
