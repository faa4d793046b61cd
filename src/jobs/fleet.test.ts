import { expect, test } from 'bun:test'
import { HandProcess } from '../../test/harness/hand-process.ts'
import { recordingLog } from '../../test/harness/hand-timing.ts'
import { noStalls } from '../core/stall-monitor.ts'
import type { Node } from '../domains/fleet/rules.ts'
import { fleetJobs } from './shop.ts'

const node = (of: Partial<Node>): Node => ({ id: 'nod_1', kind: 'gateway', name: 'gw1', state: 'open', ...of }) as Node

test('the fleet job logs once that a node appears, or is silent for over 15 s, and skips one that never joined', async () => {
  let nowMs = 100_000
  let nodes = [
    node({ joinedAt: 1, lastSeenAt: nowMs }),
    node({ id: 'nod_2' as Node['id'], name: 'gw2', joinedAt: null, lastSeenAt: null }),
  ]
  const { entries, log } = recordingLog()
  const fleet = { nodes: async (kind: string) => (kind === 'gateway' ? nodes : []) }
  const [job] = fleetJobs({ fleet, clock: () => nowMs, stalls: noStalls }, log)
  const look = async () => {
    entries.length = 0
    await job?.work()
    await job?.work()
    return entries.map((each) => [each.level, each.event, each.fields['name']])
  }
  expect(await look()).toEqual([['info', 'node came', 'gw1']])
  nowMs += 15_000
  expect(await look()).toEqual([])
  nowMs += 1
  expect(await look()).toEqual([['warn', 'node gone', 'gw1']])
  nodes = [node({ joinedAt: 1, lastSeenAt: nowMs })]
  expect(await look()).toEqual([['info', 'node came', 'gw1']])
  nodes = [node({ joinedAt: 1, lastSeenAt: nowMs, state: 'closed' })]
  expect(await look()).toEqual([['warn', 'node gone', 'gw1']])
})

test('the fleet job warns of a silent node only after 15 s of running time, not counting a stall of 30 s', async () => {
  const shop = new HandProcess()
  const silent = node({ joinedAt: 1, lastSeenAt: shop.clock.nowMs })
  const { entries, log } = recordingLog()
  const fleet = { nodes: async (kind: string) => (kind === 'gateway' ? [silent] : []) }
  const [job] = fleetJobs({ fleet, ...shop.runtime }, log)
  shop.stall(30_000)
  await job?.work()
  shop.run(14_000)
  await job?.work()
  expect(entries.map((each) => each.event)).toEqual(['node came'])
  shop.run(2000)
  await job?.work()
  expect(entries.map((each) => each.event)).toEqual(['node came', 'node gone'])
})
