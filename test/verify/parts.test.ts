import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { partsPerRound, type VerifyProgress, verifyPart } from '../../src/core/verify-parts.ts'
import { engines } from '../harness/database.ts'
import { openFilledShop } from '../harness/filled.ts'
import { openRawDatabase } from './edits.ts'

describe.each([...engines])('verify in parts on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openFilledShop>>
  let progress: VerifyProgress | undefined
  let nowMs = Date.now()
  beforeAll(async () => {
    opened = await openFilledShop(engine)
  })
  afterAll(() => opened.close())

  /** The part of one night: its findings, and whether a round has ended. */
  async function night() {
    nowMs += 86_400_000
    const save = (next: VerifyProgress) => void (progress = next)
    // The schema is compared in other tests: that takes a third of a second.
    const verifiers = opened.services.verifiers.filter(({ name }) => name !== 'schema')
    return verifyPart(verifiers, { progress, clock: () => nowMs, save })
  }

  test('the first part covers everything, later rounds take at most 14 parts, and none finds anything in honest books', async () => {
    const first = await night()
    expect([first.isRoundDone, first.findings]).toEqual([true, []])
    expect(first.covered).toMatchObject({ accounts: expect.any(Number), proxies: expect.any(Number) })
    let nights = 0
    for (let isDone = false; !isDone; nights += 1) {
      const { isRoundDone, findings } = await night()
      expect(findings).toEqual([])
      isDone = isRoundDone
    }
    expect(nights).toBeGreaterThan(1)
    expect(nights).toBeLessThanOrEqual(partsPerRound)
  })

  test('an edit of the oldest posting is found within 15 nights', async () => {
    const raw = await openRawDatabase(engine, opened.testDatabase.address)
    await raw.run("UPDATE postings SET note = 'edited' WHERE seq = 1")
    let [nights, found] = [0, 0]
    while (found === 0 && nights < partsPerRound + 1) {
      found = (await night()).findings.length
      nights += 1
    }
    await raw.close()
    expect(found).toBeGreaterThan(0)
  })
})
