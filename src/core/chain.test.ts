import { describe, expect, test } from 'bun:test'
import { emptyChain, endingWith, nextPosition, problemsOfEnd, problemsOfLink, sealEntry } from './chain.ts'
import { problem } from './finding.ts'

const sha256 = (text: string): Uint8Array => Bun.SHA256.hash(text) as Uint8Array
const options = { sha256, entry: 'posting' } as const

/** Three entries with the texts `a`, `b` and `c`. */
function madeChain() {
  let chain = emptyChain
  return ['a', 'b', 'c'].map((text, index) => {
    const position = nextPosition(chain, 1000 + index)
    const link = { ...position, text, hash: sealEntry(chain.head, [text, position.seq, position.at], sha256) }
    chain = endingWith(link)
    return link
  })
}

/** The problems of each entry, found by a walk from the first one. */
function walk(links: ReturnType<typeof madeChain>) {
  let chain = emptyChain
  const problems = links.map((link) => {
    const found = problemsOfLink(chain, link, [link.text, link.seq, link.at], options)
    chain = endingWith(link)
    return found
  })
  return { chain, problems }
}

describe('the hash chain', () => {
  test('sealEntry hashes the JSON array of the previous hash and the fields, so existing chains stay valid', () => {
    const seen: string[] = []
    sealEntry(new Uint8Array([0xab, 1]), ['x', 2, null, '3'], (text) => {
      seen.push(text)
      return new Uint8Array()
    })
    expect(seen).toEqual(['["ab01","x",2,null,"3"]'])
  })

  test('nextPosition never dates an entry before the previous one', () => {
    expect(nextPosition({ ...emptyChain, seq: 4, lastAt: 900 }, 800)).toEqual({ seq: 5, at: 900 })
    expect(nextPosition({ ...emptyChain, seq: 4, lastAt: 900 }, 901)).toEqual({ seq: 5, at: 901 })
  })

  test('problemsOfLink and problemsOfEnd find no problem in an unchanged chain', () => {
    const { chain, problems } = walk(madeChain())
    expect(problems).toEqual([[], [], []])
    expect(problemsOfEnd(chain, chain, 'posting')).toEqual([])
  })

  test('problemsOfLink reports a changed entry, also when its own hash was recomputed', () => {
    const [first, second, third] = madeChain()
    if (!first || !second || !third) throw new Error('three entries were made')
    const mismatch = problem('chain_hash', { entry: 'posting' })
    expect(walk([first, { ...second, text: 'B' }, third]).problems).toEqual([[], [mismatch], []])
    const sealed = { ...second, text: 'B', hash: sealEntry(first.hash, ['B', second.seq, second.at], sha256) }
    expect(walk([first, sealed, third]).problems).toEqual([[], [], [mismatch]])
  })

  test('problemsOfLink reports a missing entry and an entry dated before its predecessor', () => {
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

  test('problemsOfEnd reports a stored count or head that differs from the entries', () => {
    const { chain } = walk(madeChain())
    expect(problemsOfEnd({ ...chain, seq: 4 }, chain, 'posting')).toEqual([
      problem('chain_count', { entry: 'posting', stored: 4, found: 3 }),
    ])
    expect(problemsOfEnd({ ...chain, head: new Uint8Array(32) }, chain, 'posting')).toEqual([
      problem('chain_head', { entry: 'posting' }),
    ])
  })
})
