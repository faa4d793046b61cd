import { type Audit, at, type Finding, problem, type Verifier } from '../../core/finding.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import type { WebhookDeps } from './deps.ts'
import { urlProblem, type Webhook } from './rules.ts'
import { openSecrets } from './signing.ts'
import * as store from './store.ts'

const pageSize = 500

/** Checks that the secrets of each endpoint open, and that its address may be tried. Changes are in the row history. */
export const verifierOf = (deps: Pick<WebhookDeps, 'db' | 'vault'>): Verifier => ({
  name: 'webhooks',
  verify: () =>
    deps.db.snapshot(async (reader): Promise<Audit> => {
      const findings: Finding[] = []
      let count = 0
      const read = (after: string, limit: number) => store.webhooksAfter(reader, after, limit)
      for await (const page of keysetPages(read, { start: '', size: pageSize, keyOf: (each: Webhook) => each.id })) {
        for (const webhook of page) {
          const where = at('webhook', { id: webhook.id })
          if (!opens(deps, webhook)) findings.push({ promise: 'secret', where, ...problem('webhook_secret') })
          if (urlProblem(webhook.url, true)) findings.push({ promise: 'webhook', where, ...problem('webhook_address') })
        }
        count += page.length
      }
      return { findings, covered: { webhooks: count } }
    }),
})

function opens({ vault }: Pick<WebhookDeps, 'vault'>, { id, sealedSecrets, oldSecrets }: Webhook): boolean {
  try {
    for (const sealed of [sealedSecrets, ...(oldSecrets ? [oldSecrets] : [])]) openSecrets(vault, id, sealed)
    return true
  } catch {
    return false
  }
}
