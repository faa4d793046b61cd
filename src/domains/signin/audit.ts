import { type Audit, at, attempt, type Finding, found, type Verifier } from '../../core/finding.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import { sameBytes } from '../../core/token-text.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database } from '../../db/transaction.ts'
import { type Identity, namedText, recoveryContext } from './rules.ts'
import * as store from './store.ts'

const pageSize = 500

/** Compares each login with its digest in the history, and opens each second factor and its recovery codes. */
export const createSignInVerifier = (deps: {
  readonly db: Database
  readonly sha256: (text: string) => Uint8Array
  readonly vault: Vault
}): Verifier => ({
  name: 'sign-in',
  verify: () =>
    deps.db.snapshot(async (reader): Promise<Audit> => {
      const findings: Finding[] = []
      let count = 0
      const read = (after: string, limit: number) => store.identitiesAfter(reader, after, limit)
      const from = { start: '', size: pageSize, keyOf: ({ owner }: Identity): string => owner.id }
      for await (const page of keysetPages(read, from)) {
        for (const each of page) {
          const where = at('login', { owner: each.owner.id })
          if (!sameBytes(deps.sha256(namedText(each.owner.id, each.login, each.email)), each.named)) {
            findings.push(found('sign-in', where, 'login_changed'))
          }
          await attempt(findings, { promise: 'sign-in', where }, () => {
            if (each.totp) deps.vault.open(each.totp, `totp of ${each.owner.id}`)
            if (each.recovery) deps.vault.open(each.recovery, recoveryContext(each.owner.id))
          })
        }
        count += page.length
      }
      return { findings, covered: { logins: count } }
    }),
})
