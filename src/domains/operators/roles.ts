import type { OperatorId } from '../../core/ids.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Tx } from '../../db/transaction.ts'
import { noSuchOperator, operatorRemoved } from './errors.ts'
import { mayActAs, type Operator, type Role } from './rules.ts'
import * as store from './store.ts'

/** Refuses a removed or unknown operator, in the caller's transaction. */
export async function assertPresentIn(tx: Tx, id: OperatorId): Promise<void> {
  const found = await store.findOperator(tx, id)
  if (!found || found.removedAt !== null) throw operatorRemoved()
}

/** The same, with the operator's row locked. */
export async function lockPresentIn(tx: Tx, id: OperatorId): Promise<Operator> {
  const found = await store.lockOperator(tx, id)
  if (!found || found.removedAt !== null) throw operatorRemoved()
  return found
}

export function assertRole({ role }: Pick<Operator, 'role'>, needed: Role): void {
  if (mayActAs(role, needed)) return
  throw new Refusal('role_too_low', { needed, has: role }, { needed, has: role })
}

/** Locks all operators, so that the last owner stays, and returns one of them. */
export async function lockToChange(tx: Tx, name: string, keepsOwner: boolean): Promise<Operator> {
  const all = await store.lockOperators(tx)
  const found = all.find((each) => each.name === name)
  if (!found) throw noSuchOperator()
  const owners = all.filter((each) => each.role === 'owner')
  if (!keepsOwner && found.role === 'owner' && owners.length === 1) throw new Refusal('last_owner')
  return found
}

/** Changes a role. The caller ends the operator's views in the same transaction. */
export async function setRole(tx: Tx, name: string, role: Role): Promise<Operator> {
  const operator = await lockToChange(tx, name, role === 'owner')
  await store.setRole(tx, operator.id, role)
  return { ...operator, role }
}
