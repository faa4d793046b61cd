import { describe, expect, test } from 'bun:test'
import { emptyChain, endingWith, nextPosition, problemsOfEnd, problemsOfLink, sealEntry } from './chain.ts'
import { problem } from './finding.ts'

const sha256 = (text: string): Uint8Array => Bun.SHA256.hash(text) as Uint8Array
const options = { sha256, entry: 'posting' } as const

/** Three entries that say `a`, `b` and `c`. */
function madeChain() {
  let chain = emptyChain
  return ['a', 'b', 'c'].map((text, index) => {
    const position = nextPosition(chain, 1000 + index)
    const link = { ...position, text, hash: sealEntry(chain.head, [text, position.seq, position.at], sha256) }
    chain = endingWith(link)
    return link
  })
}

/** What a walk from the first entry finds, entry by entry. */
function walk(links: ReturnType<typeof madeChain>) {
  let chain = emptyChain
  const problems = links.map((link) => {
    const found = problemsOfLink(chain, link, [link.text, link.seq, link.at], options)
    chain = endingWith(link)
    return found
  })
  return { chain, problems }
}

describe('a chain of entries', () => {
  test('sealEntry hashes the JSON array of the previous hash and the fields, so existing chains stay valid', () => {
    const seen: string[] = []
    sealEntry(new Uint8Array([0xab, 1]), ['x', 2, null, '3'], (text) => {
      seen.push(text)
      return new Uint8Array()
    })
    expect(seen).toEqual(['["ab01","x",2,null,"3"]'])
  })

  test('an entry is never dated before the one it follows', () => {
    expect(nextPosition({ ...emptyChain, seq: 4, lastAt: 900 }, 800)).toEqual({ seq: 5, at: 900 })
    expect(nextPosition({ ...emptyChain, seq: 4, lastAt: 900 }, 901)).toEqual({ seq: 5, at: 901 })
  })

  test('an unchanged chain has no problem, and the account names its end', () => {
    const { chain, problems } = walk(madeChain())
    expect(problems).toEqual([[], [], []])
    expect(problemsOfEnd(chain, chain, 'posting')).toEqual([])
  })

  test('a changed entry is found, also when its own hash was recomputed', () => {
    const [first, second, third] = madeChain()
    if (!first || !second || !third) throw new Error('three entries were made')
    const mismatch = problem('chain_hash', { entry: 'posting' })
    expect(walk([first, { ...second, text: 'B' }, third]).problems).toEqual([[], [mismatch], []])
    const sealed = { ...second, text: 'B', hash: sealEntry(first.hash, ['B', second.seq, second.at], sha256) }
    expect(walk([first, sealed, third]).problems).toEqual([[], [], [mismatch]])
  })

  test('a missing entry, or one dated before its predecessor, is found', () => {
    const [first, second, third] = madeChain()
    if (!first || !second || !third) throw new Error('three entries were made')
    expect(walk([first, third]).problems[1]).toContainEqual(
      problem('chain_gap', { entry: 'posting', seq: 3, expected: 2 }),
    )
    expect(walk([first, { ...second, at: 5 }]).problems[1]).toContainEqual(
      problem('chain_date', {
        entry: 'posting',
        stored: '1970-01-01T00:00:00.005Z',
        before: '1970-01-01T00:00:01.000Z',
      }),
    )
  })

  test('an account whose count or head differs from its entries is found', () => {
    const { chain } = walk(madeChain())
    expect(problemsOfEnd({ ...chain, seq: 4 }, chain, 'posting')).toEqual([
      problem('chain_count', { entry: 'posting', stored: 4, found: 3 }),
    ])
    expect(problemsOfEnd({ ...chain, head: new Uint8Array(32) }, chain, 'posting')).toEqual([
      problem('chain_head', { entry: 'posting' }),
    ])
  })
})
