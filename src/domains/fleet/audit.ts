import {
  type Audit,
  at,
  type Finding,
  type FindingProblem,
  idDate,
  problem,
  type Verifier,
} from '../../core/finding.ts'
import { timeOfId } from '../../core/ids.ts'
import { maxPasswordKeys } from '../../core/password-mac.ts'
import type { Vault } from '../../core/vault.ts'
import { type PublicKeyOf, readKey } from '../../core/wireguard.ts'
import type { Database } from '../../db/transaction.ts'
import { contextOf, passwordKeyContext, type SealedPasswordKey } from './rules.ts'
import * as store from './store.ts'

/**
 * Checks that every node's private key opens and belongs to its public key, that its entry is a gateway, and that the
 * password keys open.
 */
export function createFleetVerifier(deps: { db: Database; vault: Vault; publicKeyOf: PublicKeyOf }): Verifier {
  function problemOf({ node, sealed }: store.SealedNode, gateways: ReadonlySet<string>): FindingProblem | undefined {
    const madeAt = timeOfId(node.id)
    if (madeAt !== node.createdAt) return idDate(node.createdAt, madeAt)
    if (node.entry !== null && !gateways.has(node.entry)) return problem('entry_unknown')
    if (sealed === null) return undefined
    try {
      const bytes = readKey(deps.vault.open(sealed, contextOf(node.id)))
      return bytes && deps.publicKeyOf(bytes).toBase64() === node.publicKey ? undefined : problem('private_key_other')
    } catch {
      return problem('private_key_sealed')
    }
  }

  function doesOpen({ id, sealed }: SealedPasswordKey): boolean {
    try {
      return Uint8Array.fromHex(deps.vault.open(sealed, passwordKeyContext(id))).length > 0
    } catch {
      return false
    }
  }

  return {
    name: 'fleet',
    async verify(): Promise<Audit> {
      const keys = await store.listPasswordKeys(deps.db, maxPasswordKeys)
      const nodes = await store.listSealed(deps.db)
      const gateways = new Set<string>(nodes.flatMap(({ node }) => (node.kind === 'gateway' ? node.id : [])))
      const findings = nodes.flatMap((each): Finding[] => {
        const wrong = problemOf(each, gateways)
        return wrong === undefined ? [] : [{ promise: 'node', where: at('node', { name: each.node.name }), ...wrong }]
      })
      for (const key of keys) {
        if (!doesOpen(key)) findings.push({ promise: 'secret', where: at('shop'), ...problem('password_key_sealed') })
      }
      return { findings, covered: { nodes: nodes.length } }
    },
  }
}
