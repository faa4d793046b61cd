import { type Audit, type Finding, type Verifier } from '../../core/finding.ts'
import { timeOfId } from '../../core/ids.ts'
import type { Vault } from '../../core/vault.ts'
import { type PublicKeyOf, readKey } from '../../core/wireguard.ts'
import type { Database } from '../../db/transaction.ts'
import { contextOf } from './rules.ts'
import * as store from './store.ts'

/** Checks that every node's private key opens and belongs to its public key. */
export function createFleetVerifier(deps: { db: Database; vault: Vault; publicKeyOf: PublicKeyOf }): Verifier {
  function problemOf({ node, sealed }: store.SealedNode): string | undefined {
    if (timeOfId(node.id) !== node.createdAt) return 'it is not dated as its id is'
    if (sealed === null) return undefined
    try {
      const bytes = readKey(deps.vault.open(sealed, contextOf(node.id)))
      return bytes && deps.publicKeyOf(bytes).toBase64() === node.publicKey
        ? undefined
        : 'its private key belongs to another public key'
    } catch {
      return 'its private key does not open'
    }
  }

  return {
    name: 'fleet',
    async verify(): Promise<Audit> {
      const nodes = await store.listSealed(deps.db)
      const findings = nodes.flatMap((each): Finding[] => {
        const problem = problemOf(each)
        return problem === undefined ? [] : [{ promise: 'node', where: `node ${each.node.name}`, problem }]
      })
      return { findings, covered: { nodes: nodes.length } }
    },
  }
}
