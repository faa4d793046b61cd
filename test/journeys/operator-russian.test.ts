import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { resolve } from 'node:path'
import { Glob } from 'bun'
import { parseSync } from 'oxc-parser'
import { actions } from '../../src/console/operator/actions-ru.ts'
import { sayFinding, sayPart } from '../../src/console/operator/findings.ts'
import { coveredNames, places, promises } from '../../src/console/operator/findings-ru.ts'
import { problems } from '../../src/console/operator/problems-ru.ts'
import { type Service, startService } from '../harness/service.ts'

const sources = resolve(import.meta.dir, '../../src')
const format = { moment: (iso: string) => iso.slice(0, 10) }

/** Sources whose texts `verify` shows. */
const audits = [
  'core/{chain,finding}.ts',
  'db/{integrity,row-history}.ts',
  'domains/**/{audit,*-audit}.ts',
  'domains/dedicated/outages/rules.ts',
]
/** Sources whose SQL returns such texts. */
const stores = ['domains/traffic/counts/store.ts', 'domains/traffic/leases/store.ts']

const readSources = async (patterns: readonly string[]) => {
  const found: { readonly file: string; readonly text: string }[] = []
  for (const pattern of patterns) {
    for await (const file of new Glob(pattern).scan({ cwd: sources, absolute: true })) {
      found.push({ file, text: await Bun.file(file).text() })
    }
  }
  return found
}

type Node = { readonly type?: unknown; readonly [name: string]: unknown }

/** Every string in a program, with `{}` in place of each expression. */
function* textsIn(of: unknown): Generator<string> {
  if (typeof of !== 'object' || of === null) return
  const node = of as Node
  if (node.type === 'ImportDeclaration') return
  if (node.type === 'Literal' && typeof node['value'] === 'string') yield node['value']
  if (node.type === 'TemplateLiteral') {
    const quasis = node['quasis'] as readonly { readonly value: { readonly cooked: string } }[]
    yield quasis.map((each) => each.value.cooked).join('{}')
  }
  for (const each of Object.values(node)) yield* textsIn(each)
}

/** True for prose; false for SQL, names and separators. */
const isProse = (text: string): boolean =>
  /[a-z]+ [a-z{]|\} [a-z]/.test(text) && !/\b(SELECT|UPDATE|INSERT|FROM|WHERE|PRAGMA|ORDER|UNION|LIMIT)\b/.test(text)

/** Texts of these sources that are not shown. */
const unshown = new Set(['totp of {}', 'bytes name it', 'lots name it', '{}, and it is not there'])

const isEnglish = (text: string): boolean =>
  /\b(?:the|is|are|was|were|this|there|not|of|its?|has|have|no|what)\b/i.test(text)

describe('the operator’s console in Russian', () => {
  let shop: Service
  beforeAll(async () => {
    shop = await startService('sqlite')
  })
  afterAll(() => shop.stop())

  test('every action of the audit log has a Russian line', async () => {
    const named = async (api: string): Promise<string[]> => {
      const { paths } = (await (await fetch(`${shop.url}/${api}/v1/openapi.json`)).json()) as {
        paths: Record<string, { post?: { operationId: string } }>
      }
      return Object.values(paths).flatMap(({ post }) => (post ? [post.operationId] : []))
    }
    // Sign-in and sign-out are not logged; export and findHolders only read and are logged.
    const ofOperators = (await named('auth')).filter((id) => id.endsWith('Operator') && !id.startsWith('sign'))
    const wanted = [...(await named('admin')), ...ofOperators, 'exportCustomer', 'findHolders']
    expect(Object.keys(actions).toSorted()).toEqual([...new Set(wanted)].toSorted())
  })

  test('every promise and every part of verify has a Russian name', async () => {
    const named = (await readSources([...audits, 'domains/**/service*.ts'])).flatMap(({ text }) => {
      const begins = text.includes('(promise: string') ? /found\(\s*'([a-z_ -]+)',/g : /(?!)/g
      const names = [...text.matchAll(/promise(?::| =) '([^']+)'/g), ...text.matchAll(begins)]
      return names.map((each) => each[1] ?? '')
    })
    expect(named.length).toBeGreaterThan(60)
    expect([...new Set(named)].filter((name) => !(name in promises))).toEqual([])
    for (const { name } of shop.services.verifiers) expect(sayPart(name, 'ru')).toMatch(/[а-я]|VPN/i)
  })

  test('every finding of verify has Russian text for place, problem and advice', async () => {
    const covered = new Set(Object.keys(coveredNames))
    const texts = (await readSources(audits)).flatMap(({ file, text }) => [...textsIn(parseSync(file, text).program)])
    const inStores = (await readSources(stores)).flatMap(({ text }) =>
      [...text.matchAll(/'([^'\n]+)' AS problem/g)].map((each) => each[1] ?? ''),
    )
    expect(inStores.length).toBeGreaterThan(1)
    const prose = [...new Set([...texts, ...inStores])].filter(
      (text) => isProse(text) && !covered.has(text) && !unshown.has(text) && !(text in promises),
    )
    expect(prose.length).toBeGreaterThan(150)
    const left = prose.filter((text) => {
      const filled = text.replaceAll('{}', '42')
      const fields = ['where', 'problem', 'advice'] as const
      const translated = fields.map((field) => {
        const finding = { promise: 'vpn', where: '', problem: '', advice: '', [field]: filled }
        return sayFinding(finding, 'ru', format)[field]
      })
      return !translated.some((each) => each !== filled && !isEnglish(each))
    })
    expect(left).toEqual([])
  })

  test('every Russian line has an English text that verify still shows', async () => {
    const all = (await readSources([...audits, ...stores]))
      .map(({ text }) => text.replaceAll(/\$\{[^}]*\}/g, '{}'))
      .join('\n')
    const derived = ['bytes name it, and it is not there', 'lots name it, and it is not there']
    const whole = ['movement {} of {} traffic of {}']
    const gone = [...problems, ...places].map(([english]) => english).filter((english) => !all.includes(english))
    expect(gone.filter((each) => !derived.includes(each) && !whole.includes(each))).toEqual([])
  })

  test('sayFinding fills values into the Russian text and leaves unknown text unchanged', () => {
    const of = { where: 'account of cus_1', problem: 'the balance is 1.50, its postings sum to 0.00' }
    expect(sayFinding({ promise: 'balance', ...of, advice: 'go home' }, 'ru', format)).toEqual({
      promise: 'Баланс',
      where: 'счёт cus_1',
      problem: 'баланс 1,50, а по проводкам 0,00',
      advice: 'go home',
    })
  })
})
