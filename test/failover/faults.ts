import type { Cluster, DatabaseNode } from './cluster.ts'
import { hub } from './cluster.ts'

/** What happens to the leader of the database. */
export const databaseFaults = [
  'leader killed',
  'leader frozen',
  'leader cut from its standbys',
  'leader cut from the shops',
  'disk full',
  'backend killed',
  'waiting commit cancelled, then leader killed',
  'backend killed while a commit waits, then leader killed',
] as const
export type DatabaseFault = (typeof databaseFaults)[number]

/** A fault has begun. `heal` repairs it. `resumesBefore`: purchases must resume while it lasts. */
export type Begun = { readonly resumesBefore: boolean; heal(): Promise<void> }

type Begin = (leader: DatabaseNode, others: readonly DatabaseNode[]) => Promise<Begun>

/** How long commits wait before one is cancelled, and a cut before it is repaired. */
const waitMs = 3_000
const cutMs = 12_000

const restart = async (node: DatabaseNode): Promise<void> => {
  node.signal('SIGKILL')
  await Bun.sleep(500)
  node.start()
}

const backends = `FROM pg_stat_activity WHERE backend_type = 'client backend' AND usename = 'turnpike'
  AND pid <> pg_backend_pid()`

/**
 * Suspends the servers of both standbys, so that commits wait, and the leader's Patroni: it would note that no standby
 * may lead, and then none would, until the leader is back.
 */
async function stall(leader: DatabaseNode, others: readonly DatabaseNode[]): Promise<void> {
  leader.signal('SIGSTOP', 'python3')
  for (const each of others) each.signal('SIGSTOP', 'postgres')
  await Bun.sleep(waitMs)
}

const resume = (others: readonly DatabaseNode[]): void => {
  for (const each of others) each.signal('SIGCONT')
}

async function killBackend(leader: DatabaseNode, having: string): Promise<void> {
  const [row] = await leader.ask(`SELECT pid ${backends} ${having} LIMIT 1`)
  if (!row) return
  // The ids of a network namespace's processes are those of the machine: there is one namespace of processes.
  process.kill(Number(row['pid']), 'SIGKILL')
}

const begins: Record<DatabaseFault, Begin> = {
  'leader killed': async (leader) => {
    leader.signal('SIGKILL')
    return { resumesBefore: true, heal: async () => leader.start() }
  },
  'leader frozen': async (leader) => {
    leader.signal('SIGSTOP')
    return { resumesBefore: true, heal: async () => leader.signal('SIGCONT') }
  },
  'leader cut from its standbys': async (leader, others) => {
    await leader.cutFrom(others.map((each) => each.address))
    return { resumesBefore: true, heal: () => leader.cutFrom([]) }
  },
  // Patroni sees nothing amiss, so no other leader is chosen.
  'leader cut from the shops': async (leader) => {
    await leader.cutFrom([hub])
    await Bun.sleep(cutMs)
    return { resumesBefore: false, heal: () => leader.cutFrom([]) }
  },
  'disk full': async (leader) => {
    leader.fill()
    // A full log of changes stops the server; a full table alone only refuses writes.
    for (let segments = 0; segments < 40; segments += 1) {
      const isUp = await leader
        .ask(`SELECT pg_logical_emit_message(false, 'fill', repeat('x', 4000000)), pg_switch_wal()`)
        .then(() => true)
        .catch(() => false)
      if (!isUp) break
    }
    return { resumesBefore: true, heal: async () => leader.empty() }
  },
  'backend killed': async (leader) => {
    await killBackend(leader, '')
    return { resumesBefore: true, heal: async () => {} }
  },
  'waiting commit cancelled, then leader killed': async (leader, others) => {
    await stall(leader, others)
    for (let times = 0; times < 5; times += 1) {
      await leader.ask(`SELECT pg_cancel_backend(pid) ${backends} AND wait_event = 'SyncRep'`).catch(() => [])
      await Bun.sleep(300)
    }
    leader.signal('SIGKILL')
    resume(others)
    return { resumesBefore: true, heal: () => restart(leader) }
  },
  'backend killed while a commit waits, then leader killed': async (leader, others) => {
    await stall(leader, others)
    await killBackend(leader, `AND wait_event = 'SyncRep'`)
    // Long enough for the crash recovery: what no standby has is visible then, and keys are repeated.
    await Bun.sleep(waitMs)
    leader.signal('SIGKILL')
    resume(others)
    return { resumesBefore: true, heal: () => restart(leader) }
  },
}

export async function beginFault(cluster: Cluster, what: DatabaseFault): Promise<Begun> {
  const leader = await cluster.findLeader()
  if (!leader) throw new Error('the database has no leader')
  return begins[what](
    leader,
    cluster.nodes.filter((each) => each !== leader),
  )
}
