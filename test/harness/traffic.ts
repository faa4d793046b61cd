import type { SubuserId } from '../../src/core/ids.ts'
import type { Caller } from './caller.ts'
import type { Service } from './service.ts'
import type { Pass } from './transfers.ts'

export const pool = 'residential'

/** A sub-user with traffic, and its credentials at the gateway. */
export type User = Pass & { readonly subuser: SubuserId; readonly login: string }

/** Sub-users with so many gigabytes each. */
export async function addUsers(
  service: Caller & { readonly port: number },
  count: number,
  gb: number,
): Promise<User[]> {
  const users: User[] = []
  for (let index = 0; index < count; index += 1) users.push(await addUser(service, gb))
  return users
}

async function addUser(service: Caller & { readonly port: number }, gb: number): Promise<User> {
  const { data } = await service.post('/premium/subusers', {})
  const subuser = data.subuser.subuser_id as SubuserId
  if (gb > 0) await buyFor(service, subuser, gb)
  const login = data.subuser.login as string
  return { port: service.port, username: `${login}-pool-${pool}`, login, password: data.password, subuser }
}

export async function buyFor(service: Caller, subuser: SubuserId, gb: number): Promise<void> {
  const bought = await service.post('/premium/traffic/buy', { pool_type: pool, gb, subuser_id: subuser })
  if (bought.status !== 200) throw new Error(`buying was answered with ${bought.status}: ${bought.text}`)
}

/** The bytes that the shop has recorded as used. */
export async function usedBy({ services }: Pick<Service, 'services'>, subuser: SubuserId): Promise<number> {
  const row = await services.db.first<{ customer_id: string }>('SELECT customer_id FROM subusers WHERE id = $1', [
    subuser,
  ])
  const { pools } = await services.premium.traffic.balance(row?.customer_id as never, subuser, pool)
  return Number(pools[0]?.used ?? 0n)
}
