import { describe, expect, test } from 'bun:test'
import type { Audit, Verifier } from './finding.ts'
import { partsPerRound, type VerifyProgress, verifyPart } from './verify-parts.ts'

const dayMs = 86_400_000

/** Verifiers over rows that a test adds: which rows each part has looked at. */
function open(rowsOf: () => { readonly paged: number; readonly whole: number }) {
  const looked: string[] = []
  const since: number[] = []
  const paged: Verifier = {
    name: 'paged',
    verify: async (): Promise<Audit> => ({ findings: [], covered: {} }),
    walks: [
      {
        name: 'rows',
        async step(after) {
          const row = Number(after ?? -1) + 1
          looked.push(`row ${row}`)
          const isLast = row >= rowsOf().paged - 1
          return { findings: [], covered: { rows: 1 }, rows: 1, ...(!isLast && { next: String(row) }) }
        },
      },
    ],
    checkSince: async (sinceAt) => {
      since.push(sinceAt)
      return { findings: [], covered: {} }
    },
  }
  const whole: Verifier = {
    name: 'whole',
    async verify() {
      looked.push('whole')
      return { findings: [], covered: { things: rowsOf().whole } }
    },
  }
  let [progress, nowMs]: [VerifyProgress | undefined, number] = [undefined, 0]
  return {
    looked,
    since,
    async night() {
      nowMs += dayMs
      looked.length = 0
      const outcome = await verifyPart([paged, whole], {
        progress,
        clock: () => nowMs,
        save: (next) => void (progress = JSON.parse(JSON.stringify(next)) as VerifyProgress),
      })
      return { ...outcome, looked: [...looked] }
    },
  }
}

describe('verify in parts', () => {
  test('the first night looks at everything, and each later round takes at most 14 nights', async () => {
    const shop = open(() => ({ paged: 130, whole: 10 }))
    expect((await shop.night()).isRoundDone).toBe(true)
    const seen: string[] = []
    let nights = 0
    for (let isDone = false; !isDone; nights += 1) {
      const { isRoundDone, looked } = await shop.night()
      expect(looked.length).toBeLessThanOrEqual(Math.ceil(140 / (partsPerRound - 1)) + 1)
      seen.push(...looked)
      isDone = isRoundDone
    }
    expect(nights).toBeLessThanOrEqual(partsPerRound)
    expect(seen).toEqual([...Array.from({ length: 130 }, (_, row) => `row ${row}`), 'whole'])
  })

  test('a round ends within 14 nights in a shop that grows by a tenth each night', async () => {
    let paged = 100
    const shop = open(() => ({ paged, whole: 1 }))
    await shop.night()
    let nights = 0
    for (let isDone = false; !isDone; nights += 1) {
      paged = Math.round(paged * 1.1)
      isDone = (await shop.night()).isRoundDone
    }
    expect(nights).toBeLessThanOrEqual(partsPerRound)
  })

  test('each night looks at what is new since the last one, with two minutes of overlap', async () => {
    const shop = open(() => ({ paged: 50, whole: 1 }))
    for (let night = 0; night < 3; night += 1) await shop.night()
    expect(shop.since).toEqual([dayMs - 120_000, 2 * dayMs - 120_000])
  })

  test('a position of a walk that is no more begins the round again', async () => {
    const place = { roundAt: 0, partAt: 0, parts: 3, walk: 'gone', after: '7', rows: 9, lastRows: 90 }
    const progress = { ...place, found: 0, lastFound: 0 }
    const looked: (string | undefined)[] = []
    const walk = {
      name: 'rows',
      step: async (after: string | undefined) => (looked.push(after), { findings: [], covered: {}, rows: 100 }),
    }
    const verifier = { name: 'paged', verify: async () => ({ findings: [], covered: {} }), walks: [walk] }
    const outcome = await verifyPart([verifier], { progress, clock: () => 1, save: () => {} })
    expect([looked, outcome.isRoundDone]).toEqual([[undefined], true])
  })
})
