import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { HandClock } from '../../../test/harness/clock.ts'
import { engines, openTestDatabase } from '../../../test/harness/database.ts'
import { failureOf } from '../../../test/harness/failure.ts'
import { createPorts } from './index.ts'

const weekMs = 7 * 86_400_000

describe.each([...engines])('ports that stand for somebody on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  const clock = new HandClock()
  const ports = createPorts({ clock: clock.read, range: { first: 30_000, last: 30_009 } })
  const take = (count: number) => opened.db.transact((tx) => ports.take(tx, count))
  const free = (...freed: number[]) => opened.db.transact(async (tx) => ports.free(tx, freed))
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
  })
  afterAll(() => opened.close())

  test('each is given out once, rests a week when it is free, and is refused when none is left', async () => {
    const first = await take(4)
    const second = await take(4)
    expect(new Set([...first, ...second]).size).toBe(8)
    await free(30_001, 30_002)
    clock.advance(weekMs - 1)
    expect(await take(2)).toEqual([30_008, 30_009])
    expect(await failureOf(take(1))).toMatchObject({ code: 'out_of_stock', details: { available: 0 } })
    clock.advance(1)
    expect(await failureOf(take(3))).toMatchObject({ code: 'out_of_stock' })
    expect(await take(1)).toEqual([30_001])
    expect(await take(1)).toEqual([30_002])
    expect(await failureOf(take(1))).toMatchObject({ code: 'out_of_stock' })
  })
})
