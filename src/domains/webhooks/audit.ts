import { type Audit, at, type Finding, found, type Verifier } from '../../core/finding.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import type { Reader } from '../../db/transaction.ts'
import type { WebhookDeps } from './deps.ts'
import { type CheckedDelivery, endpointProblem, problemsOfDelivery, type Webhook } from './rules.ts'
import { openSecrets } from './signing.ts'
import * as store from './store.ts'

const pageSize = 500

type AuditDeps = Pick<WebhookDeps, 'db' | 'vault'>

/**
 * Checks that the secrets of each endpoint open, that its address may be tried, that its progress fits its events, and
 * that each delivery fits its endpoint, event and attempts. Changes of endpoints are in the row history.
 */
export const verifierOf = (deps: AuditDeps): Verifier => ({
  name: 'webhooks',
  verify: () =>
    deps.db.snapshot(async (reader): Promise<Audit> => {
      const findings: Finding[] = []
      const webhooks = await checkEndpoints(deps, reader, findings)
      for (const { id } of await store.brokenProgress(reader, pageSize)) {
        findings.push(found('webhook', at('webhook', { id }), 'webhook_progress'))
      }
      const deliveries = await checkDeliveries(reader, findings)
      return { findings, covered: { webhooks, deliveries } }
    }),
})

async function checkEndpoints(deps: AuditDeps, reader: Reader, findings: Finding[]): Promise<number> {
  let count = 0
  const read = (after: string, limit: number) => store.webhooksAfter(reader, after, limit)
  for await (const page of keysetPages(read, { start: '', size: pageSize, keyOf: (each: Webhook) => each.id })) {
    for (const webhook of page) {
      const where = at('webhook', { id: webhook.id })
      if (!opens(deps, webhook)) findings.push(found('secret', where, 'webhook_secret'))
      if (endpointProblem(webhook.customer, webhook.url, true))
        findings.push(found('webhook', where, 'webhook_address'))
    }
    count += page.length
  }
  return count
}

async function checkDeliveries(reader: Reader, findings: Finding[]): Promise<number> {
  let count = 0
  const read = (after: string, limit: number) => store.deliveriesAfter(reader, after, limit)
  const from = { start: '', size: pageSize, keyOf: (each: CheckedDelivery) => each.id }
  for await (const page of keysetPages(read, from)) {
    for (const delivery of page) {
      for (const problem of problemsOfDelivery(delivery)) {
        findings.push(found('webhook', at('delivery', { id: delivery.id }), problem))
      }
    }
    count += page.length
  }
  return count
}

function opens({ vault }: Pick<WebhookDeps, 'vault'>, { id, sealedSecrets, oldSecrets }: Webhook): boolean {
  try {
    for (const sealed of [sealedSecrets, ...(oldSecrets ? [oldSecrets] : [])]) openSecrets(vault, id, sealed)
    return true
  } catch {
    return false
  }
}
