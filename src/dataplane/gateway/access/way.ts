import type { MaybePromise } from '../../../core/maybe-promise.ts'
import type { After } from '../../../core/time.ts'
import type { NodeExit } from '../../../node-protocol/state.ts'
import type { Allowance, Subject } from '../metering/allowance.ts'
import { waitForBytes } from '../metering/first-bytes.ts'
import type { Ask } from './admission.ts'
import { type Access, type Moment, poolOf } from './admit.ts'
import type { RefusalCode } from './refusals.ts'
import type { ExitChooser } from './sessions.ts'
import { fillLogin } from './supplier-login.ts'

/** Where a connection leaves: an address of this machine, or somebody's proxy. */
export type Way =
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'exit'; readonly exit: NodeExit }

export type ChosenWay = { readonly way: Way; readonly allowance: Allowance }

/** Chooses where somebody who was let in leaves, and what pays for it; waits until there are bytes to begin with. */
export function createWayChooser(deps: {
  ask: Ask
  moment: () => Moment
  chooser: ExitChooser
  sha256: (text: string) => Uint8Array
  random: () => number
  /** An exit of this very gateway that can be left through: nobody is handed on a second time. */
  findOwnExit: (id: string) => NodeExit | undefined
  allowanceOf: (subject: Subject) => Allowance
  after: After
}) {
  /** There was nothing to have when the shop was last asked; whoever bought a moment ago is not told of that. */
  async function waitAfresh(
    allowance: Allowance,
    access: Extract<Access, { kind: 'premium' }>,
  ): Promise<RefusalCode | undefined> {
    await deps.ask({ username: access.subuser.login }, access.owner)
    return waitForBytes(allowance, deps.after)
  }

  async function waitForSome(
    allowance: Allowance,
    access: Extract<Access, { kind: 'premium' }>,
  ): Promise<RefusalCode | undefined> {
    const refusal = await waitForBytes(allowance, deps.after)
    return refusal === 'traffic_exhausted' ? waitAfresh(allowance, access) : refusal
  }

  /** `failed` are exits that have failed this very connection. */
  return (
    access: Access,
    failed: readonly NodeExit[] = [],
  ): MaybePromise<ChosenWay | { readonly refusal: RefusalCode }> => {
    if (access.kind === 'dedicated') {
      const allowance = deps.allowanceOf({ kind: 'proxy', id: access.proxy.id })
      return { way: { kind: 'address', address: access.proxy.leave_from }, allowance }
    }
    if (access.kind === 'hop') {
      const exit = deps.findOwnExit(access.exit)
      if (!exit) return { refusal: 'no_exit' }
      const allowance = deps.allowanceOf({ kind: 'hop', id: access.gateway.id })
      return { way: { kind: 'exit', exit }, allowance }
    }
    const named = poolOf(access)
    if ('refusal' in named) return named
    const { pool } = named
    const choice = deps.chooser.choose(access.subuser.id, pool, access.login, deps.moment().nowMs, failed)
    if ('refusal' in choice) return choice
    const allowance = deps.allowanceOf({ kind: 'subuser', id: access.subuser.id, pool })
    const exit = fillLogin(choice.exit, access.login, choice.session, deps)
    const chosen: ChosenWay = { way: { kind: 'exit', exit }, allowance }
    if (allowance.hasSome) return chosen
    return waitForSome(allowance, access).then((refusal) => (refusal ? { refusal } : chosen))
  }
}
